import { StoreUnavailable } from '../../domain/errors.ts'
import { sql } from '../queries/database.ts'
import type { Store } from '../store.ts'
import { LeaseLost, type WorkKind, type WorkShare } from '../worker.ts'
import { coalesce } from './coalesce.ts'
import type { Connection } from './connection.ts'

/** How often the parts of all servers are compared. A refusal is remembered as long. */
const balanceMs = 1_000
/** Several servers take the rows of one that failed at the same moment: each try finds fewer that another one is about to take. */
const maxTries = 4
/** A row is kept so long without work: more may follow. */
const idleMs = 10_000

type LeaseConnection = Pick<Connection, 'read' | 'fences' | 'membership'> & {
  signals: Pick<Connection['signals'], 'tell' | 'subscribe'>
}

interface Held {
  token: number
  /** When it last had work, by the monotonic clock. */
  worked_at: number
}

// `free`: those of the rows that no server has.
const select = sql<Server & { free: number }>(`
  SELECT servers.row_id, count(work_leases.row_id) AS held, (
    SELECT count(*) FROM unnest($row_ids::bigint[]) AS wanted (row_id)
    WHERE NOT EXISTS (SELECT 1 FROM work_leases AS taken WHERE taken.kind = $kind AND taken.row_id = wanted.row_id)) AS free
  FROM servers LEFT JOIN work_leases ON server_row_id = servers.row_id AND kind = $kind
  WHERE state = 'running' AND until > clock_timestamp() GROUP BY servers.row_id ORDER BY servers.row_id`)
// Each server chooses others of the free rows, and all insert in one order. Without a token: another server was faster. A lease of a
// server that counted as dead meanwhile is deleted by the others.
const take = sql<{ row_id: number; token: number | null }>(`
  WITH free AS (
    SELECT row_id FROM unnest($row_ids::bigint[]) AS wanted (row_id)
    WHERE NOT EXISTS (SELECT 1 FROM work_leases AS taken WHERE taken.kind = $kind AND taken.row_id = wanted.row_id)
      AND EXISTS (SELECT 1 FROM servers WHERE row_id = $server_row_id AND state = 'running')
    ORDER BY hashint8extended(row_id, $server_row_id) LIMIT $room),
  taken AS (
    INSERT INTO work_leases (kind, row_id, server_row_id) SELECT $kind, row_id, $server_row_id FROM free ORDER BY row_id
    ON CONFLICT DO NOTHING RETURNING row_id, token)
  SELECT row_id, token FROM free LEFT JOIN taken USING (row_id)`)
// In the order of the fences of database transactions.
const drop = sql(`
  DELETE FROM work_leases WHERE (kind, row_id) IN (
    SELECT kind, row_id FROM work_leases
    WHERE kind = $kind AND token = ANY ($tokens::bigint[]) AND server_row_id = $server_row_id
    ORDER BY kind, row_id FOR UPDATE)`)
const dropOthers = sql(`
  DELETE FROM work_leases WHERE (kind, row_id) IN (
    SELECT kind, row_id FROM work_leases
    WHERE kind = $kind AND token <> ALL ($tokens::bigint[]) AND server_row_id = $server_row_id
    ORDER BY kind, row_id FOR UPDATE)`)

/** A lease for each row, so that all servers do the work together. A server has one share of each kind. */
export const workShares = (connection: LeaseConnection): Pick<Store, 'share'> => ({
  share: (kind) => createShare(connection, kind),
})

function createShare({ read, fences, membership, signals }: LeaseConnection, kind: WorkKind): WorkShare {
  const { row_id: serverRowId } = membership
  const held = new Map<number, Held>()
  /** Rows of others, and when to ask again. */
  const refused = new Map<number, number>()
  let share: FairShare = { most: 0, surplus: 0, held: 0, rows: 0, servers: 0 }
  /** The rows at work when the parts were compared; what was taken of others since then is not counted in them. */
  let compared: ReadonlySet<number> = new Set()
  let claimed = 0
  let balancedAt = Number.NEGATIVE_INFINITY
  let atWork: readonly number[] = []
  let isStale = true
  let isSurplusKnown = false
  /** The database has more leases of this server than it knows of. */
  let hasStrays = false
  let isLeaving = false
  let free = () => {}

  const holds = (rowId: number) => held.has(rowId) && membership.isValid()
  const now = () => performance.now()

  /** Leases of others may be free. */
  const freed = () => {
    isStale = true
    refused.clear()
    free()
  }
  membership.watch({
    ended: () => held.clear(),
    freed() {
      signals.tell({ kind: 'leases' })
      freed()
    },
  })
  signals.subscribe((signal) => {
    if (signal === undefined || signal.kind === 'leases') freed()
  })
  fences.onLost((fence) => {
    if (fence.kind === kind && held.get(fence.row_id)?.token === fence.token) held.delete(fence.row_id)
  })

  let balancing: Promise<void> | undefined
  /** Compares the parts of all servers. */
  function balance(): Promise<void> {
    balancing ??= compare().finally(() => {
      balancing = undefined
    })
    return balancing
  }

  /** What was freed during a comparison is compared again. */
  async function balanced(): Promise<void> {
    isStale ||= now() - balancedAt >= balanceMs
    while (isStale) await balance()
  }

  async function compare(): Promise<void> {
    isStale = false
    refused.clear()
    // Only now: while a server starts, the others do its part.
    await membership.enter()
    const rowIds = [...atWork]
    const servers = await read.all(select, { kind, row_ids: rowIds })
    share = fairShare(serverRowId, servers, servers[0]?.free ?? 0)
    compared = new Set(rowIds)
    claimed = 0
    hasStrays = share.held > held.size
    isSurplusKnown = true
    // While the registration is being renewed, the share is asked for again.
    if (share.servers > 0) balancedAt = now()
  }

  /**
   * A statement whose answer is lost may have taken leases, or may not have dropped them. This server does not work under them, and they
   * would keep the others from the rows for as long as it is registered. Must not run while leases are being taken.
   */
  async function dropStrays(): Promise<void> {
    if (!hasStrays) return
    const tokens = [...held.values()].map(({ token }) => token)
    const dropped = await read.run(dropOthers, { kind, server_row_id: serverRowId, tokens })
    hasStrays = false
    if (dropped > 0) signals.tell({ kind: 'leases' })
  }

  /** Takes those of the rows that are free and belong to this server's share. */
  const acquire = coalesce(async (asked: number[]) => {
    await dropStrays()
    const rowIds = asked.filter((rowId) => !held.has(rowId))
    if (isLeaving || !membership.isValid() || rowIds.length === 0) return
    const fresh = rowIds.filter((rowId) => !compared.has(rowId)).length
    const room = (fresh > 0 ? mostWith(share, claimed + fresh) : share.most) - held.size
    if (room <= 0) return
    let taken = 0
    for (let tries = 1, missed = true; missed && tries <= maxTries; tries += 1) {
      const rows = await read.all(take, { kind, server_row_id: serverRowId, row_ids: rowIds, room: room - taken })
      for (const { row_id, token } of rows) {
        if (token === null) continue
        held.set(row_id, { token, worked_at: now() })
        taken += 1
      }
      missed = rows.some(({ token }) => token === null)
    }
    if (fresh > 0) claimed += taken
  })

  function noteRefusals(rowIds: number[]): void {
    for (const rowId of rowIds) if (!held.has(rowId)) refused.set(rowId, now() + balanceMs)
  }

  const giveBack = coalesce(async (rowIds: number[]) => {
    const tokens = rowIds.flatMap((rowId) => held.get(rowId)?.token ?? [])
    for (const rowId of rowIds) {
      held.delete(rowId)
      // Another one has less than its share, and takes it.
      refused.set(rowId, now() + balanceMs)
    }
    if (tokens.length === 0) return
    await read.run(drop, { kind, server_row_id: serverRowId, tokens })
    signals.tell({ kind: 'leases' })
  })

  /** Held rows that have had no work for a while, and those beyond this server's share. */
  function surplusOf(): number[] {
    const idle = [...held].filter(([, { worked_at }]) => now() - worked_at > idleMs).map(([rowId]) => rowId)
    const busy = [...held.keys()].filter((rowId) => !idle.includes(rowId))
    return [...idle, ...busy.slice(busy.length - Math.max(0, share.surplus - idle.length))]
  }

  return {
    async divide(rowIds) {
      atWork = rowIds
      await balanced()
      for (const rowId of rowIds) {
        const its = held.get(rowId)
        if (its) its.worked_at = now()
      }
      const wanted = rowIds.filter((rowId) => !held.has(rowId) && (refused.get(rowId) ?? 0) < now())
      await acquire(wanted)
      noteRefusals(wanted)
      const surplus = isSurplusKnown ? surplusOf() : []
      isSurplusKnown = false
      return { own: rowIds.filter(holds), surplus }
    },
    async claim(rowId) {
      if (holds(rowId)) return true
      if (held.has(rowId) || isLeaving || (refused.get(rowId) ?? 0) > now()) return false
      await balanced()
      await acquire([rowId])
      noteRefusals([rowId])
      return holds(rowId)
    },
    holds,
    lease: (rowId) => held.get(rowId)?.token,
    held: () => [...held.keys()],
    async under(rowId, work) {
      const its = held.get(rowId)
      if (!its) throw new LeaseLost()
      its.worked_at = now()
      return fences.run({ kind, row_id: rowId, token: its.token }, work)
    },
    giveBack: (rowId) => giveBack([rowId]),
    leave() {
      isLeaving = true
      void membership.leave()
    },
    async release() {
      isLeaving = true
      await membership.leave()
      try {
        await acquire([])
        await giveBack([...held.keys()])
      } catch (error) {
        // The leases end with the registration of this server.
        if (!(error instanceof StoreUnavailable)) throw error
      }
    },
    watch(freed) {
      free = freed
    },
  }
}

interface Server {
  row_id: number
  /** How many rows it has. */
  held: number
}

interface FairShare {
  /** How many rows the server may have. */
  most: number
  /** How many it gives back. */
  surplus: number
  /** How many it has. */
  held: number
  /** Of how many rows it is a share, and of how many servers. */
  rows: number
  servers: number
}

/**
 * The share of one server. Rows, those that servers have and the `free` ones, are spread evenly; where they do not divide, the servers that registered first have one more. A row
 * moves only where it makes the parts more even.
 */
export function fairShare(rowId: number, servers: readonly Server[], free: number): FairShare {
  const rank = servers.findIndex((server) => server.row_id === rowId)
  const own = servers[rank]
  // Its registration has just ended.
  if (!own) return { most: 0, surplus: 0, held: 0, rows: 0, servers: 0 }
  const rows = servers.reduce((sum, server) => sum + server.held, free)
  const most = Math.floor(rows / servers.length) + (rank < rows % servers.length ? 1 : 0)
  const least = Math.min(...servers.map((server) => server.held))
  const surplus = own.held - least >= 2 ? Math.max(0, own.held - most) : 0
  return { most, surplus, held: own.held, rows, servers: servers.length }
}

/** How many rows the server may have when `fresh` rows are new since its share was determined. */
const mostWith = ({ rows, servers }: FairShare, fresh: number): number =>
  servers === 0 ? 0 : Math.ceil((rows + fresh) / servers)
