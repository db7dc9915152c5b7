import type { ProblemAcknowledgement, TransactionStatus } from '../../../generated/openapi.ts'
import type { Incident, PendingAuditEntry, RefusedBy } from '../../domain/rows.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import { callerNames } from './api-keys.ts'
import { type Database, indexedBy, least, sql } from './database.ts'
import { acknowledgeRefusals } from './refusals.ts'
import { unfinishedOfAll } from './transaction-reads.ts'

interface DatabaseFacts {
  engine: 'sqlite' | 'postgres'
  version: string
  size_bytes: number
}

interface ServerRow {
  /** The host and the process. */
  name: string
  status: 'idle' | 'running' | 'leaving'
  /** Milliseconds since the Unix epoch. */
  started_at: number
  /** How many relayers it sends for. */
  relayers_count: number
}

export interface Gauges {
  /** The unfinished transactions by status; a status without any is absent. */
  transactions: { status: TransactionStatus; count: number; oldest_ms: number }[]
  deliveries: { pending: number; due: number }
  nonce_gaps: { relayer_id: string; gaps: number }[]
  /** `relayers`: those that may be chosen. */
  pools: { pool_id: string; relayers: number; unfinished: number }[]
}

/** The failures of a relayer in a time, and the newest of its failed transactions. */
export interface Failures {
  relayer_row_id: number
  count: number
  transaction_id: string | null
  reason: string | null
}

export interface NotificationState {
  id: string
  created_by: string
  disabled_reason: string | null
  failing_since: string | null
  pending: number
  failed: number
}

const facts = sql<DatabaseFacts>({
  sqlite: `
  SELECT 'sqlite' AS engine, sqlite_version() AS version, page_count * page_size AS size_bytes
  FROM pragma_page_count(), pragma_page_size()`,
  postgres: `
  SELECT 'postgres' AS engine, current_setting('server_version') AS version, pg_database_size(current_database()) AS size_bytes`,
})
// Processes that share a SQLite file are not registered.
const selectServers = sql<ServerRow>({
  sqlite: "SELECT '' AS name, 'running' AS status, 0 AS started_at, 0 AS relayers_count WHERE false",
  postgres: `
  SELECT name, state AS status, floor(extract(epoch FROM started_at) * 1000)::bigint AS started_at,
    (SELECT count(*) FROM work_leases WHERE server_row_id = servers.row_id AND kind = 'sender') AS relayers_count
  FROM servers WHERE state <> 'ended' ORDER BY row_id LIMIT 1000`,
})

/** The row ids say how old they are: no row between them is removed. */
const maxKept = 1_000

const insertAcknowledgement = sql(`
  INSERT INTO incidents (at, server, severity, subject, text) VALUES ($at, $server, $severity, $subject, $text)`)
const removeOld = sql(`DELETE FROM incidents WHERE row_id <= (SELECT max(row_id) FROM incidents) - ${maxKept}`)
const newest = sql<Incident>(`
  SELECT at, server, severity, subject, text FROM incidents ORDER BY row_id DESC LIMIT $limit`)

const alive = sql('SELECT 1 FROM generation')

/** Rejects when the database does not answer. */
export const ping = async ({ read }: Database): Promise<void> => void (await read.one(alive))

/**
 * The wall clock that all users of the database share, in milliseconds since the Unix epoch: this machine's for a file, and the
 * database's where servers on several machines share it.
 */
export const now = ({ effects }: Database): number => effects.now()

export const databaseFacts = async (database: Database): Promise<DatabaseFacts> =>
  (await database.read.one(facts)) as DatabaseFacts

/** The servers that use the database, in the order of their starts; none on SQLite. */
export const servers = (database: Database): Promise<ServerRow[]> => database.read.all(selectServers)

/** Keeps them with the newest ones. */
export const addIncidents = (database: Database, added: Incident[]): Promise<void> =>
  database.write(async (dbTransaction) => {
    for (const { at, server, severity, subject, text } of added)
      await dbTransaction.run(insertAcknowledgement, { at, server, severity, subject, text })
    await dbTransaction.run(removeOld)
  })

/** Those of all servers, the newest first. */
export const incidents = (database: Database, limit: number): Promise<Incident[]> =>
  database.read.all(newest, { limit })

const periodS = 900
/** Periods that are read in one turn of the event loop: with a thousand relayers, some milliseconds. */
const turnPeriods = 12

const failures = sql<{ relayer_row_id: number; count: number }>(`
  SELECT relayer_row_id, sum(failed) AS count FROM activity
  WHERE period_s = ${periodS} AND at >= $from AND at < $to AND failed > 0 GROUP BY relayer_row_id`)
const newestProblems = sql<{ at: number | null }>(`SELECT max(at) AS at FROM activity WHERE period_s = ${periodS}`)
const newestFailed = sql<{ id: string; status_reason: string | null }>(`
  SELECT id, status_reason FROM transactions WHERE relayer_row_id = $relayer_row_id AND status = 'failed'
  ORDER BY sequence DESC LIMIT 1`)
const states = sql<NotificationState>(`
  SELECT id, created_by, disabled_reason, failing_since,
    (SELECT coalesce(sum(pending), 0) FROM delivery_blocks WHERE notification_row_id = notifications.row_id AND level = 1) AS pending,
    (SELECT coalesce(sum(failed), 0) FROM delivery_blocks WHERE notification_row_id = notifications.row_id AND level = 1) AS failed
  FROM notifications ORDER BY row_id`)
const valid = sql<{ problem_id: string; caller: string; at: string; until: string; note: string | null }>(
  'SELECT problem_id, caller, at, until, note FROM acknowledgements WHERE until > $now',
)
const removeOldProblems = sql('DELETE FROM acknowledgements WHERE until <= $now')
const insertProblems = sql(`
  INSERT INTO acknowledgements (problem_id, caller, at, until, note) VALUES ($problem_id, $caller, $at, $until, $note)
  ON CONFLICT (problem_id) DO UPDATE
    SET caller = excluded.caller, at = excluded.at, until = excluded.until, note = excluded.note`)
const deleteAcknowledgementRow = sql('DELETE FROM acknowledgements WHERE problem_id = $problem_id')

/** `from`: seconds since the Unix epoch. The counts are kept by the quarter of an hour. */
export async function failuresSince(database: Database, from: number): Promise<Failures[]> {
  const counts = new Map<number, number>()
  const end = (await database.read.one(newestProblems))?.at ?? 0
  for (let start = from; start <= end; start += turnPeriods * periodS) {
    for (const { relayer_row_id, count } of await database.read.all(failures, {
      from: start,
      to: start + turnPeriods * periodS,
    }))
      counts.set(relayer_row_id, (counts.get(relayer_row_id) ?? 0) + Number(count))
    await yieldToEventLoop()
  }
  const found: Failures[] = []
  for (const [relayerRowId, count] of counts) {
    const last = await database.read.one(newestFailed, { relayer_row_id: relayerRowId })
    found.push({
      relayer_row_id: relayerRowId,
      count,
      transaction_id: last?.id ?? null,
      reason: last?.status_reason ?? null,
    })
  }
  return found
}

export const notificationStates = (database: Database): Promise<NotificationState[]> => database.read.all(states)

/** Those that are valid at `now` (RFC 3339, UTC, milliseconds), by the id of their problem. */
export async function acknowledgements(database: Database, now: string): Promise<Map<string, ProblemAcknowledgement>> {
  const rows = await database.read.all(valid, { now })
  const names = await callerNames(database, [...new Set(rows.map(({ caller }) => caller))])
  return new Map(
    rows.map(({ problem_id, ...its }) => [problem_id, { caller_name: names.get(its.caller) ?? null, ...its }]),
  )
}

/** `refused_by`: of a problem of refusals, which ends with it, until another request is refused. */
export const acknowledge = (
  database: Database,
  { id, refused_by }: { id: string; refused_by?: RefusedBy | undefined },
  its: ProblemAcknowledgement,
  auditEntry?: PendingAuditEntry,
): Promise<void> =>
  database.write(async (dbTransaction) => {
    await dbTransaction.run(removeOldProblems, { now: its.at })
    await dbTransaction.run(insertProblems, { problem_id: id, ...its })
    if (refused_by) await acknowledgeRefusals(dbTransaction, refused_by, Date.parse(its.at))
  }, auditEntry)

export const deleteAcknowledgement = (
  database: Database,
  problemId: string,
  auditEntry?: PendingAuditEntry,
): Promise<void> =>
  database.write(
    async (dbTransaction) => void (await dbTransaction.run(deleteAcknowledgementRow, { problem_id: problemId })),
    auditEntry,
  )

/** Counts stop here, so that reading the gauges never delays a request for long. */
const maxCounted = 20_000
const maxRelayers = 100
const maxPools = 100
/** Gaps are searched in this many nonces: no more transactions are ever broadcast at once. */
const maxNonces = 1_000

// Row ids follow the order of creation, so the lowest is the oldest.
const groups = (
  [
    ['transactions_pending', `'pending'`, `status = 'pending'`],
    ['transactions_flying', 'status', `status IN ('sent', 'submitted')`],
    ['transactions_mined', `'mined'`, `status = 'mined'`],
  ] as const
).map(([index, status, where]) =>
  sql<{ status: TransactionStatus; count: number; oldest: string }>(
    (engine) => `
    SELECT status, count, (SELECT created_at FROM transactions WHERE row_id = oldest_row_id) AS oldest FROM (
      SELECT status, count(*) AS count, min(row_id) AS oldest_row_id FROM (
        SELECT ${status} AS status, row_id FROM transactions${indexedBy[engine](index)} WHERE ${where} LIMIT ${maxCounted}
      ) AS counted GROUP BY status
    ) AS grouped ORDER BY status`,
  ),
)
const countDeliveries = sql<Gauges['deliveries']>(
  (engine) => `
  SELECT count(*) AS pending, count(*) FILTER (WHERE next_at <= $now) AS due FROM (
    SELECT next_at FROM deliveries${indexedBy[engine]('deliveries_due')} WHERE status = 'pending' LIMIT ${maxCounted}
  ) AS counted`,
)
/** Above every nonce. */
const none = Number.MAX_SAFE_INTEGER
const lowestOf = (status: string) =>
  `coalesce((SELECT min(nonce) FROM transactions WHERE relayer_row_id = relayers.row_id AND ${status}), ${none})`
// Nonces that no transaction holds, from the lowest unfinished one to the nonce counter or the limit of the search.
const gaps = sql<{ relayer_id: string; gaps: number }>(
  (engine) => `
  SELECT id AS relayer_id, ${least[engine]}(next_nonce, lowest + ${maxNonces}) - lowest - (
      SELECT count(*) FROM transactions
      WHERE chain_id = accounts.chain_id AND "from" = accounts.address AND nonce >= lowest
        AND nonce < ${least[engine]}(next_nonce, lowest + ${maxNonces})
    ) AS gaps
  FROM (
    SELECT id, chain_id, address,
      ${least[engine]}(${lowestOf(`status = 'pending'`)}, ${lowestOf(`status IN ('sent', 'submitted')`)}) AS lowest
    FROM relayers ORDER BY row_id LIMIT ${maxRelayers}
  ) AS lowest_nonces JOIN accounts USING (chain_id, address)
  WHERE lowest < next_nonce`,
)

const members = sql<{ pool_id: string; relayer_row_id: number; weight: number }>(`
  SELECT pools.id AS pool_id, relayer_row_id, weight FROM (SELECT * FROM pools ORDER BY row_id LIMIT ${maxPools}) AS pools
    JOIN pool_relayers ON pool_row_id = pools.row_id`)

async function readPools(database: Database): Promise<Gauges['pools']> {
  const rows = await database.read.all(members)
  const counts = await unfinishedOfAll(database.read, [...new Set(rows.map(({ relayer_row_id }) => relayer_row_id))])
  return [...Map.groupBy(rows, ({ pool_id }) => pool_id)].map(([poolId, its]) => ({
    pool_id: poolId,
    relayers: its.filter(({ weight }) => weight > 0).length,
    unfinished: its.reduce((sum, { relayer_row_id }) => sum + (counts.get(relayer_row_id)?.count ?? 0), 0),
  }))
}

/**
 * The unfinished work. Counts (and the oldest of those counted) stop at 20,000, relayers at 100, and nonces at 1,000 above the
 * lowest. `now`: milliseconds since the Unix epoch.
 */
export async function readGauges(database: Database, now: number): Promise<Gauges> {
  const transactions: Gauges['transactions'] = []
  for (const group of groups) {
    for (const { status, count, oldest } of await database.read.all(group)) {
      transactions.push({ status, count, oldest_ms: Math.max(0, now - Date.parse(oldest)) })
    }
  }
  const deliveries = (await database.read.one(countDeliveries, { now })) as Gauges['deliveries']
  return { transactions, deliveries, nonce_gaps: await database.read.all(gaps), pools: await readPools(database) }
}
