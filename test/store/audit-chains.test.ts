import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { connectClient } from '../../server/store/postgres/pool.ts'
import { createSession } from '../../server/store/postgres/session.ts'
import { openPostgresStore } from '../../server/store/postgres.ts'
import { checkTrail } from '../../server/store/queries/audit.ts'
import { nodeEnvironment } from '../support/node-environment.ts'
import { newDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/service.ts'

async function database() {
  const { url, drop } = await newDatabase()
  onTestFinished(drop)
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  onTestFinished(() => client.end())
  const checker = await connectClient({ url })
  onTestFinished(() => checker.end())

  return {
    url,
    query: (text: string) => client.query(text),
    check: (...told: Parameters<typeof checkTrail>[1] & object) => checkTrail(createSession(checker), told),
    async server() {
      const store = await openPostgresStore(
        { url, max_connections: 4, allow_weak: [], timeout_ms: 10_000 },
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
      /** Records an entry for each time. */
      const record = (...times: number[]) =>
        store.appendAudit(
          times.map((at) => ({
            at,
            caller: 'environment',
            operation: 'signMessage',
            relayer_id: null,
            subject: `${at}`,
            http_status: 200,
            request_id: null,
          })),
        )
      return { ...store, close, record }
    },
  }
}

test('writes a chain per server; lists all in one order at any depth, and verifies them together', async () => {
  const { server, check } = await database()
  const [one, two] = [await server(), await server()]
  await one.record(1, 2)
  await two.record(3)
  await one.record(4)
  await two.record(4, 5)
  await one.record(6)
  const all = await two.listAudit({ offset: 0, limit: 100 }, {})
  const order = [
    [1, 4, 6],
    [2, 3, 5],
    [2, 2, 4],
    [1, 3, 4],
    [2, 1, 3],
    [1, 2, 2],
    [1, 1, 1],
  ]
  expect(all.items.map(({ chain, sequence, at }) => [chain, sequence, at])).toEqual(order)
  for (let offset = 0; offset <= order.length; offset += 1) {
    const { items, total_items } = await one.listAudit({ offset, limit: 2 }, {})
    expect(items.map(({ chain, sequence, at }) => [chain, sequence, at])).toEqual(order.slice(offset, offset + 2))
    expect(total_items).toBe(order.length)
  }
  const filtered = await one.listAudit({ offset: 1, limit: 2 }, { after: 2 })
  expect([filtered.items.map(({ at }) => at), filtered.total_items]).toEqual([[5, 4], 5])
  expect(await one.auditHead()).toMatchObject({ chain: 1, up_to: 4 })
  expect(await two.auditHead()).toMatchObject({ chain: 2, up_to: 3 })
  expect(await check()).toEqual({ heads: await one.auditHeads(), checkpoints: [], skipped: 0, fault: undefined })
})

test('continues the chain of a server that has ended', async () => {
  const { server, check } = await database()
  const [one, two] = [await server(), await server()]
  await one.record(1)
  await two.record(2)
  await one.close()
  const [three, four] = [await server(), await server()]
  await three.record(3)
  await four.record(4)
  expect((await three.auditHeads()).map(({ chain, up_to }) => [chain, up_to])).toEqual([
    [1, 2],
    [2, 1],
    [3, 1],
  ])
  expect(await check()).toMatchObject({ fault: undefined })
})

test('detects changes of any chain, and with the heads of the log a missing chain', async () => {
  const { server, check, query } = await database()
  const [one, two] = [await server(), await server()]
  for (const at of [1, 2, 3]) await one.record(at)
  await two.record(4)
  const told = await one.auditHeads()
  const faults: [change: string, fault: RegExp][] = [
    [
      "UPDATE audit SET entries = replace(entries, 'environment', 'x') WHERE chain = 2",
      /Chain 2: Entries 1 to 1 are not/,
    ],
    ['DELETE FROM audit WHERE chain = 1 AND up_to = 2', /Chain 1: Entries are missing between 1 and 3/],
    ['DELETE FROM audit WHERE chain = 1 AND up_to = 3', /Chain 1: Entries are missing between 2 and 3/],
    ['DELETE FROM audit WHERE chain = 2; DELETE FROM audit_chains WHERE chain = 2', /recorded head of entry 1/],
  ]
  for (const [change, fault] of faults) {
    await query(`CREATE TABLE kept AS SELECT * FROM audit; CREATE TABLE heads AS SELECT * FROM audit_chains; ${change}`)
    expect(await check(...told)).toMatchObject({ fault: expect.stringMatching(fault) })
    await query(`DELETE FROM audit; DELETE FROM audit_chains; INSERT INTO audit_chains SELECT * FROM heads;
      INSERT INTO audit SELECT * FROM kept; DROP TABLE kept; DROP TABLE heads`)
  }
  expect(await check(...told)).toMatchObject({ fault: undefined })
})

test('verifies chains whose oldest entries were removed by age, and refuses a checkpoint that nothing recorded', async () => {
  const { server, check, query } = await database()
  const [one, two] = [await server(), await server()]
  for (const at of [1, 2, 3]) await one.record(at)
  const [old] = await one.auditHeads()
  for (const at of [4, 50, 60]) await one.record(at)
  for (const at of [5, 70]) await two.record(at)
  expect(await two.pruneAudit(10)).toEqual({ removed: 5, more: false })
  expect(await two.pruneAudit(10)).toEqual({ removed: 0, more: false })
  const told = await one.auditHeads()
  const { checkpoints, fault } = await check(...told)
  expect([checkpoints.map(({ chain, up_to }) => [chain, up_to]), fault]).toEqual([
    [
      [1, 4],
      [2, 1],
    ],
    undefined,
  ])
  expect(await check(old as NonNullable<typeof old>, ...told)).toMatchObject({ skipped: 1, fault: undefined })
  const { items, total_items } = await one.listAudit({ offset: 0, limit: 100 }, {})
  expect([items.length, total_items]).toEqual([5, 5])
  expect(items.filter(({ operation }) => operation === 'removeAuditEntries')).toHaveLength(2)
  const [last] = (await one.listAudit({ offset: 4, limit: 2 }, {})).items
  expect(last).toMatchObject({ at: 50, sequence: 5 })
  expect((await one.listAudit({ offset: 0, limit: 9 }, { before: 65, operation: 'sign' })).total_items).toBe(2)

  // What records the checkpoints is removed too, and recorded anew. The newest batch of each chain stays.
  await one.record(2 ** 42)
  await one.pruneAudit(2 ** 43)
  expect(await check()).toMatchObject({ fault: undefined })
  await query(
    `UPDATE audit_checkpoints SET (up_to, hash) = (SELECT up_to, hash FROM audit WHERE chain = 1 ORDER BY up_to LIMIT 1)
    WHERE chain = 1`,
  )
  await query('DELETE FROM audit WHERE chain = 1 AND up_to <= (SELECT up_to FROM audit_checkpoints WHERE chain = 1)')
  expect((await check()).fault).toMatch(/^Chain 1: .* not recorded in the trail$/)
})

test('verifies all chains by the command, with the logs of all servers', async () => {
  const { server, url, query } = await database()
  const [one, two] = [await server(), await server()]
  await one.record(1, 2)
  await two.record(3)
  const log = join(temporaryFolder(), 'servers.log')
  const heads = (await one.auditHeads()).map(({ chain, up_to, hash }) =>
    JSON.stringify({ chain, up_to, hash: Buffer.from(hash).toString('hex'), msg: 'audit head' }),
  )
  writeFileSync(log, `${heads.join('\n')}\n`)
  const verify = () =>
    promisify(execFile)(process.execPath, ['server/cli/audit.ts', 'verify', '--log', log], {
      env: { ...nodeEnvironment, DATABASE_URL: url },
    })
  expect((await verify()).stdout).toMatch(
    /^3 entries are unchanged\. Head: \w{64}\nChain 1: 2 entries\. Head: \w{64}\nChain 2: 1 entries\. Head: \w{64}\nAll 2 heads/,
  )
  await query("UPDATE audit SET entries = replace(entries, 'environment', 'x') WHERE chain = 2")
  await expect(verify()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('not what was written') })
})
