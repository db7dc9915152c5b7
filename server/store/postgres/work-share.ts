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
  share: (kind) => new ServerShare(connection, kind),
})

class ServerShare implements WorkShare {
  readonly #connection: LeaseConnection
  readonly #kind: WorkKind
  readonly #held = new Map<number, Held>()
  /** Rows of others, and when to ask again. */
  readonly #refused = new Map<number, number>()
  #share: FairShare = { most: 0, surplus: 0, held: 0, rows: 0, servers: 0 }
  /** The rows at work when the parts were compared; what was taken of others since then is not counted in them. */
  #compared: ReadonlySet<number> = new Set()
  #claimed = 0
  #balancedAt = Number.NEGATIVE_INFINITY
  #balancing: Promise<void> | undefined
  #atWork: readonly number[] = []
  #isStale = true
  #isSurplusKnown = false
  /** The database has more leases of this server than it knows of. */
  #hasStrays = false
  #isLeaving = false
  #free = () => {}

  constructor(connection: LeaseConnection, kind: WorkKind) {
    const { membership, signals, fences } = connection
    this.#connection = connection
    this.#kind = kind
    membership.watch({
      ended: () => this.#held.clear(),
      freed: () => {
        signals.tell({ kind: 'leases' })
        this.#freed()
      },
    })
    signals.subscribe((signal) => {
      if (signal === undefined || signal.kind === 'leases') this.#freed()
    })
    fences.onLost((fence) => {
      if (fence.kind === kind && this.lease(fence.row_id) === fence.token) this.#held.delete(fence.row_id)
    })
  }

  async divide(rowIds: number[]) {
    this.#atWork = rowIds
    await this.#balanced()
    for (const rowId of rowIds) {
      const its = this.#held.get(rowId)
      if (its) its.worked_at = performance.now()
    }
    const wanted = rowIds.filter(
      (rowId) => !this.#held.has(rowId) && (this.#refused.get(rowId) ?? 0) < performance.now(),
    )
    await this.#acquire(wanted)
    this.#noteRefusals(wanted)
    const surplus = this.#isSurplusKnown ? this.#surplus() : []
    this.#isSurplusKnown = false
    return { own: rowIds.filter((rowId) => this.holds(rowId)), surplus }
  }

  async claim(rowId: number): Promise<boolean> {
    if (this.holds(rowId)) return true
    if (this.#held.has(rowId) || this.#isLeaving || (this.#refused.get(rowId) ?? 0) > performance.now()) return false
    await this.#balanced()
    await this.#acquire([rowId])
    this.#noteRefusals([rowId])
    return this.holds(rowId)
  }

  holds(rowId: number): boolean {
    return this.#held.has(rowId) && this.#connection.membership.isValid()
  }

  lease(rowId: number): number | undefined {
    return this.#held.get(rowId)?.token
  }

  held(): number[] {
    return [...this.#held.keys()]
  }

  async under<T>(rowId: number, work: () => Promise<T>): Promise<T> {
    const its = this.#held.get(rowId)
    if (!its) throw new LeaseLost()
    its.worked_at = performance.now()
    return this.#connection.fences.run({ kind: this.#kind, row_id: rowId, token: its.token }, work)
  }

  giveBack(rowId: number): Promise<void> {
    return this.#giveBack([rowId])
  }

  leave(): void {
    this.#isLeaving = true
    void this.#connection.membership.leave()
  }

  async release(): Promise<void> {
    this.#isLeaving = true
    await this.#connection.membership.leave()
    try {
      await this.#acquire([])
      await this.#giveBack(this.held())
    } catch (error) {
      // The leases end with the registration of this server.
      if (!(error instanceof StoreUnavailable)) throw error
    }
  }

  watch(freed: () => void): void {
    this.#free = freed
  }

  /** Leases of others may be free. */
  #freed(): void {
    this.#isStale = true
    this.#refused.clear()
    this.#free()
  }

  /** Compares the parts of all servers. What was freed during a comparison is compared again. */
  async #balanced(): Promise<void> {
    this.#isStale ||= performance.now() - this.#balancedAt >= balanceMs
    while (this.#isStale) {
      this.#balancing ??= this.#compare().finally(() => {
        this.#balancing = undefined
      })
      await this.#balancing
    }
  }

  async #compare(): Promise<void> {
    const { read, membership } = this.#connection
    this.#isStale = false
    this.#refused.clear()
    // Only now: while a server starts, the others do its part.
    await membership.enter()
    const rowIds = [...this.#atWork]
    const servers = await read.all(select, { kind: this.#kind, row_ids: rowIds })
    this.#share = fairShare(membership.row_id, servers, servers[0]?.free ?? 0)
    this.#compared = new Set(rowIds)
    this.#claimed = 0
    this.#hasStrays = this.#share.held > this.#held.size
    this.#isSurplusKnown = true
    // While the registration is being renewed, the share is asked for again.
    if (this.#share.servers > 0) this.#balancedAt = performance.now()
  }

  /**
   * A statement whose answer is lost may have taken leases, or may not have dropped them. This server does not work under them, and they
   * would keep the others from the rows for as long as it is registered. Must not run while leases are being taken.
   */
  async #dropStrays(): Promise<void> {
    if (!this.#hasStrays) return
    const tokens = [...this.#held.values()].map(({ token }) => token)
    const dropped = await this.#change(dropOthers, tokens)
    this.#hasStrays = false
    if (dropped > 0) this.#connection.signals.tell({ kind: 'leases' })
  }

  /** Takes those of the rows that are free and belong to this server's share. */
  readonly #acquire = coalesce(async (asked: number[]) => {
    const { read, membership } = this.#connection
    await this.#dropStrays()
    const rowIds = asked.filter((rowId) => !this.#held.has(rowId))
    if (this.#isLeaving || !membership.isValid() || rowIds.length === 0) return
    const fresh = rowIds.filter((rowId) => !this.#compared.has(rowId)).length
    const room = (fresh > 0 ? mostWith(this.#share, this.#claimed + fresh) : this.#share.most) - this.#held.size
    if (room <= 0) return
    const whose = { kind: this.#kind, server_row_id: membership.row_id, row_ids: rowIds }
    let taken = 0
    for (let tries = 1, missed = true; missed && tries <= maxTries; tries += 1) {
      const rows = await read.all(take, { ...whose, room: room - taken })
      for (const { row_id, token } of rows) {
        if (token === null) continue
        this.#held.set(row_id, { token, worked_at: performance.now() })
        taken += 1
      }
      missed = rows.some(({ token }) => token === null)
    }
    if (fresh > 0) this.#claimed += taken
  })

  #noteRefusals(rowIds: number[]): void {
    for (const rowId of rowIds) if (!this.#held.has(rowId)) this.#refused.set(rowId, performance.now() + balanceMs)
  }

  readonly #giveBack = coalesce(async (rowIds: number[]) => {
    const tokens = rowIds.flatMap((rowId) => this.lease(rowId) ?? [])
    for (const rowId of rowIds) this.#held.delete(rowId)
    // Another one has less than its share, and takes it.
    this.#noteRefusals(rowIds)
    if (tokens.length === 0) return
    await this.#change(drop, tokens)
    this.#connection.signals.tell({ kind: 'leases' })
  })

  #change(statement: typeof drop, tokens: number[]): Promise<number> {
    const { read, membership } = this.#connection
    return read.run(statement, { kind: this.#kind, server_row_id: membership.row_id, tokens })
  }

  /** Held rows that have had no work for a while, and those beyond this server's share. */
  #surplus(): number[] {
    const now = performance.now()
    const idle = [...this.#held].filter(([, { worked_at }]) => now - worked_at > idleMs).map(([rowId]) => rowId)
    const busy = this.held().filter((rowId) => !idle.includes(rowId))
    return [...idle, ...busy.slice(busy.length - Math.max(0, this.#share.surplus - idle.length))]
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
 * The share of one server. Rows, those that servers have and the `free` ones, are spread evenly; where they do not divide, the servers that
 * registered first have one more. A row moves only where it makes the parts more even.
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
