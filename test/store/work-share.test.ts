import pg from 'pg'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { fairShare } from '../../server/store/postgres/work-share.ts'
import { openPostgresStore } from '../../server/store/postgres.ts'
import { LeaseLost, type WorkKind } from '../../server/store/worker.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { newDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

const rows = [1, 2, 3, 4, 5, 6, 7]
let url: string

beforeAll(async () => {
  const database = await newDatabase()
  url = database.url
  return database.drop
})

async function startServer(itsUrl = url) {
  const store = await openPostgresStore(
    { url: itsUrl, max_connections: 4, allow_weak: [], timeout_ms: 10_000 },
    {
      now: () => 0,
      makeId: () => '',
      checkEvent: () => undefined,
    },
  )
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= store.close()
    return closed
  }
  onTestFinished(close)
  return { ...store, close }
}

async function query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end()
  }
}

/** Servers that poll for work in turns. `counts`: the number of rows of each when the numbers no longer change. */
function team(kind: WorkKind) {
  const members: { share: ReturnType<Awaited<ReturnType<typeof startServer>>['share']>; close(): Promise<void> }[] = []
  async function look() {
    for (const { share } of members) {
      const { surplus } = await share.divide(rows)
      for (const rowId of surplus) await share.giveBack(rowId)
    }
  }
  const counts = () => members.map(({ share }) => share.held().length)
  return {
    members,
    look,
    async join() {
      const { share, close } = await startServer()
      members.push({ share: share(kind), close })
    },
    settles: (wanted: number[]) =>
      until(`the parts are ${wanted}`, async () => {
        await look()
        const all = members.flatMap(({ share }) => share.held())
        expect(new Set(all).size).toBe(all.length)
        return counts().join() === wanted.join()
      }),
  }
}

describe('fair shares of servers', () => {
  test.each([
    { of: 'the only one', rank: 0, held: [0], free: 7, share: { most: 7, surplus: 0 } },
    { of: 'the first of two', rank: 0, held: [0, 0], free: 7, share: { most: 4, surplus: 0 } },
    { of: 'the second of two', rank: 1, held: [0, 0], free: 7, share: { most: 3, surplus: 0 } },
    { of: 'one with all rows beside a new one', rank: 0, held: [7, 0], free: 0, share: { most: 4, surplus: 3 } },
    { of: 'one whose row would only move', rank: 1, held: [3, 4], free: 0, share: { most: 3, surplus: 0 } },
    { of: 'one beside rows without work', rank: 1, held: [2, 2, 2], free: 1, share: { most: 2, surplus: 0 } },
    { of: 'the first beside rows without work', rank: 0, held: [2, 2, 2], free: 1, share: { most: 3, surplus: 0 } },
    { of: 'one that is not registered', rank: 9, held: [3, 4], free: 0, share: { most: 0, surplus: 0 } },
  ])('$of', ({ rank, held, free, share }) => {
    const servers = held.map((count, rowId) => ({ row_id: rowId, held: count }))
    expect(fairShare(rank, servers, free)).toMatchObject(share)
  })
})

describe('registrations', () => {
  test('of servers that ended more than a day ago are removed when one starts, except those with a chain of the audit trail', async () => {
    await startServer()
    const plant = async (name: string, age: string, state = 'ended') => {
      const until = `clock_timestamp() - INTERVAL '${age}'`
      await query(`INSERT INTO servers (name, state, until) VALUES ($1, $2, ${until})`, [name, state])
    }
    await plant('planted: long ago', '25 hours')
    await plant('planted: today', '23 hours')
    await plant('planted: with a chain', '25 hours')
    await query(`INSERT INTO audit_chains (chain, server_row_id, up_to, at, hash)
      SELECT 1000, row_id, 0, 0, decode(repeat('00', 32), 'hex') FROM servers WHERE name = 'planted: with a chain'`)
    await startServer()
    const left = await query<{ name: string }>("SELECT name FROM servers WHERE name LIKE 'planted%' ORDER BY row_id")
    expect(left.map(({ name }) => name)).toEqual(['planted: today', 'planted: with a chain'])
    await query("DELETE FROM audit_chains WHERE chain = 1000; DELETE FROM servers WHERE name LIKE 'planted%'")
  })

  test('are made again by a server that was stalled until its own was removed', async () => {
    const one = await startServer()
    const share = one.share('retention')
    await until('it takes part', () => share.claim(3_001))
    const [mine] = await query<{ row_id: string }>(
      "SELECT server_row_id AS row_id FROM work_leases WHERE kind = 'retention' AND row_id = 3001",
    )
    const its = [mine?.row_id]
    await query('UPDATE audit_chains SET server_row_id = NULL WHERE server_row_id = $1', its)
    await query('DELETE FROM work_leases WHERE server_row_id = $1', its)
    await query('DELETE FROM servers WHERE row_id = $1', its)
    await until('it takes part again', () => share.claim(3_002))
    expect(share.holds(3_001)).toBe(false)
    await share.release()
  })
})

describe('leases of rows', () => {
  test('are spread evenly: a new server gets its share, and the others get the share of one that leaves', async () => {
    const { members, join, settles } = team('sender')
    // A command, or a server that still starts: no lease is kept for it.
    await startServer()
    await join()
    await settles([7])
    await join()
    await settles([4, 3])
    await join()
    await settles([3, 2, 2])
    const [first] = members.splice(0, 1)
    await first?.share.release()
    await settles([4, 3])
    await first?.close()
  })

  test('are taken at once for a row that has work while all servers keep rows without work', async () => {
    const [one, two] = [await startServer(), await startServer()]
    const shares = [one.share('funding'), two.share('funding')]
    const [first, second] = shares as [(typeof shares)[0], (typeof shares)[0]]
    for (const rowId of [1, 2]) await until('the first has it', () => first.claim(rowId))
    for (const rowId of [3, 4]) await until('the second has it', () => second.claim(rowId))
    // Both compare their parts before the new row has work.
    for (const share of shares) await share.divide([1, 2, 3, 4])
    expect(shares.map((share) => share.held().length)).toEqual([2, 2])
    const own = []
    for (const share of shares) own.push(...(await share.divide([5])).own)
    expect(own).toEqual([5])
  })

  test('are claimed by the first server that requests them, and returned to the others', async () => {
    const [one, two] = [await startServer(), await startServer()]
    const [mine, yours] = [one.share('deliverer'), two.share('deliverer')]
    const claims = await Promise.all([mine.claim(1), yours.claim(1)])
    expect(claims.filter((isTaken) => isTaken)).toHaveLength(1)
    const [owner, other] = claims[0] ? [mine, yours] : [yours, mine]
    expect([owner.holds(1), other.holds(1), await other.claim(1)]).toEqual([true, false, false])
    await owner.giveBack(1)
    expect(owner.holds(1)).toBe(false)
    await until('the other has it', () => other.claim(1))
  })

  test('are lost for a server that counted as dead: it changes nothing, and notices it', async () => {
    const [one, two] = [await startServer(), await startServer()]
    const [mine, yours] = [one.share('retention'), two.share('retention')]
    expect(await mine.claim(0)).toBe(true)
    await mine.under(0, () => one.believeTime(1))
    let result: unknown
    await mine.under(0, async () => {
      // It was silent for longer than its leases last, and has not read the clock since.
      await query(`WITH gone AS (DELETE FROM work_leases WHERE kind = 'retention' RETURNING server_row_id)
        UPDATE servers SET state = 'ended' WHERE row_id IN (SELECT server_row_id FROM gone)`)
      result = await one.believeTime(2).catch((error) => error)
    })
    expect(result).toBeInstanceOf(LeaseLost)
    expect([mine.holds(0), await one.believedTime()]).toEqual([false, 1])
    await until('the other has it', () => yours.claim(0))
    expect(await mine.claim(0)).toBe(false)
    // It has joined again.
    await until('it takes work', () => mine.claim(5))
  })

  test('are taken together for many new rows, up to this server’s share', async () => {
    const [one, two] = [await startServer(), await startServer()]
    const [mine, yours] = [one.share('deliverer'), two.share('deliverer')]
    const running = "SELECT 1 FROM servers WHERE state = 'running'"
    // A server takes part when it begins to work; the second one that looks knows of both.
    for (const share of [yours, mine]) await share.divide([])
    await until('both take part', async () => (await query(running)).length === 2)
    const fresh = Array.from({ length: 100 }, (_, index) => 1_000 + index)
    const claims = await Promise.all(fresh.map((rowId) => mine.claim(rowId)))
    expect(claims.filter((isTaken) => isTaken)).toHaveLength(50)
    await until('the other has the rest', async () => {
      const { own } = await yours.divide(fresh)
      return own.length === 50
    })
    await Promise.all(mine.held().map((rowId) => mine.giveBack(rowId)))
    expect(mine.held()).toEqual([])
    expect(await query("SELECT 1 FROM work_leases WHERE kind = 'deliverer' AND row_id >= 1000")).toHaveLength(50)
  })

  test('are checked one by one in a group commit: only the change without its lease fails', async () => {
    const server = await startServer()
    const share = server.share('bulk changes')
    expect([await share.claim(1), await share.claim(2)]).toEqual([true, true])
    await query("DELETE FROM work_leases WHERE kind = 'bulk changes' AND row_id = 1")
    const move = () => server.move([{ row_id: 1, revision: 0, set: {} }])
    const results = await Promise.allSettled([share.under(1, move), share.under(2, move), move()])
    expect(results).toEqual([
      { status: 'rejected', reason: expect.any(LeaseLost) },
      { status: 'fulfilled', value: [undefined] },
      { status: 'fulfilled', value: [undefined] },
    ])
    expect([share.holds(1), share.holds(2)]).toEqual([false, true])
  })

  test('move to the others from a server without heartbeats', async () => {
    const [one, two] = [await startServer(), await startServer()]
    const [mine, yours] = [one.share('gauges'), two.share('gauges')]
    expect(await mine.claim(0)).toBe(true)
    // No server renews this registration.
    const [gone] = await query<{ row_id: string }>(
      "INSERT INTO servers (name, until) VALUES ('gone', clock_timestamp() - INTERVAL '1 ms') RETURNING row_id",
    )
    await query("UPDATE work_leases SET server_row_id = $1 WHERE kind = 'gauges'", [gone?.row_id])
    await until('the other has it', () => yours.claim(0))
    const states = await query<{ state: string }>("SELECT state FROM servers WHERE name = 'gone'")
    expect(states).toEqual([{ state: 'ended' }])
  })

  describe('whose answers are lost are not kept by a server that does not know of them', () => {
    async function cutOff() {
      const network = await startDatabaseProxy(url)
      onTestFinished(network.stop)
      const [one, two] = [await startServer(network.url), await startServer()]
      const [mine, yours] = [one.share('deliverer'), two.share('deliverer')]
      const isStored = async (rowId: number) =>
        (await query("SELECT 1 FROM work_leases WHERE kind = 'deliverer' AND row_id = $1", [rowId])).length > 0
      return { network, mine, isStored, claimedByOne: (rowId: number) => claimedByOne([mine, yours], rowId) }
    }

    async function claimedByOne(shares: { claim(rowId: number): Promise<boolean> }[], rowId: number) {
      for (const share of shares) if (await share.claim(rowId).catch(() => false)) return true
      return false
    }

    test('a lease that it took', async () => {
      const { network, mine, isStored, claimedByOne } = await cutOff()
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      onTestFinished(() => client.end())
      await client.query('BEGIN; LOCK TABLE work_leases IN SHARE ROW EXCLUSIVE MODE')
      const claim = mine.claim(2_001).catch((error) => error)
      await until('it is being taken', async () => {
        const waiting =
          "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INTO work_leases%'"
        return (await query(waiting)).length > 0
      })
      await network.set('closed')
      await client.query('COMMIT')
      expect(await claim).toMatchObject({ code: 'unavailable' })
      await until('it is taken', () => isStored(2_001))
      await network.set('open')
      await until('a server works on the row', () => claimedByOne(2_001))
    })

    test('a lease that it gave back', async () => {
      const { network, mine, isStored, claimedByOne } = await cutOff()
      expect(await mine.claim(2_002)).toBe(true)
      await network.set('closed')
      await expect(mine.giveBack(2_002)).rejects.toMatchObject({ code: 'unavailable' })
      expect(await isStored(2_002)).toBe(true)
      await network.set('open')
      await until('a server works on the row', () => claimedByOne(2_002))
    })
  })
})
