import { DomainError } from '../../domain/errors.ts'
import { type Rights, type Session, StoreError, sql, type Transaction } from '../queries/database.ts'
import { contentAsText, createTrust, rows, scanRights, sealChanges } from '../queries/row-mac.ts'
import {
  createReports,
  deletionOf,
  distrusted,
  faultOf,
  follow,
  type RightsChange,
  type RightsReports,
  type RightsTable,
  type RightsTables,
  type RowMac,
  rowMac,
} from '../row-mac.ts'
import { migrations } from './prepare-database.ts'
import type { Snapshot } from './session.ts'

/** A rule of a view has the name _RETURN and the table of the view. */
const selectForeign = sql<{ name: string; source: string | null }>(`
  SELECT tgname AS name, prosrc AS source FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
    JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE NOT tgisinternal AND nspname = current_schema()
  UNION ALL
  SELECT CASE WHEN rulename = '_RETURN' THEN relname ELSE rulename END, NULL FROM pg_rewrite
    JOIN pg_class ON pg_class.oid = ev_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE nspname = current_schema()`)

/**
 * Throws StoreError when the schema has triggers, views or rules that the service did not create, or a trigger of its own with another
 * function: they could change rows within the service's statements, and the service would seal these changes.
 */
export async function checkSchema(session: Session): Promise<void> {
  const isKnown = (part: string) => migrations.some(({ text }) => text.includes(part))
  const isOwn = ({ name, source }: { name: string; source: string | null }) =>
    source !== null && source !== '' && isKnown(`$$${source}$$`) && isKnown(`CREATE TRIGGER ${name} `)
  const foreign = (await session.all(selectForeign)).filter((its) => !isOwn(its))
  if (foreign.length === 0) return
  const names = foreign.map(({ name }) => name).join(', ')
  throw new StoreError(`The database has triggers or views that are not the service's: ${names}`)
}

/**
 * Protects rows that grant rights (API keys, relayers, pools, networks, notifications, signers) with a MAC, as the SQLite store does. Each
 * method that changes such a row says so, in its database transaction; before the commit, changed rows get a new version and a MAC, and
 * the manifest is updated. The lock of the manifest comes after those of all rows, and before that of the audit chain.
 */
export interface PostgresRights extends Rights {
  close(): Promise<void>
}

export function createRights(dependencies: MonitorDependencies): PostgresRights {
  const { snapshot } = dependencies
  let sealing: RowMac | undefined
  const changesOf = new WeakMap<Transaction, Map<string, RightsChange>>()
  const tell = createReports()
  const monitor = createMonitor(dependencies, tell)

  function add(transaction: Transaction, seal: RowMac, change: RightsChange): void {
    const known = changesOf.get(transaction)
    const changes = known ?? new Map<string, RightsChange>()
    const name = nameOf(change)
    if (!changes.has(name)) changes.set(name, change)
    if (known) return
    changesOf.set(transaction, changes)
    transaction.beforeCommit(async () => {
      await checkSchema(transaction)
      const sealed = await sealChanges(transaction, seal, changes.values())
      transaction.afterCommit(() => monitor.follow(sealed))
    })
  }

  async function change(transaction: Transaction, table: RightsTable, rowId: number, isDeletion: boolean) {
    if (!sealing || changesOf.get(transaction)?.has(nameOf({ table, row_id: rowId }))) return
    const stored = await transaction.one(rows[table].lock, { row_id: rowId })
    if (!stored) return
    const row = contentAsText(stored)
    const known = monitor.of(table)
    const fault = faultOf(sealing, table, row, known)
    if (fault) tell([fault])
    if (fault && !isDeletion) throw distrusted()
    const its = { table, row_id: rowId, version: row.rights_version }
    add(transaction, sealing, fault ? deletionOf(sealing, table, row, known) : its)
  }

  return {
    async protect(guard, report) {
      await dependencies.readGeneration()
      const seal = rowMac(guard)
      tell.to(report)
      await snapshot(checkSchema)
      await monitor.first(seal)
      sealing = seal
    },
    ...createTrust(() => sealing, monitor, tell),
    inserted(transaction, table, rowId) {
      if (sealing) add(transaction, sealing, { table, row_id: rowId, version: 0 })
    },
    updated: (transaction, table, rowId) => change(transaction, table, rowId, false),
    deleted: (transaction, table, rowId) => change(transaction, table, rowId, true),
    close: monitor.ended,
  }
}

const nameOf = ({ table, row_id }: Pick<RightsChange, 'table' | 'row_id'>) => `${table}:${row_id}`

/** The pause after a scan: 50 times its duration, at least 1 s after a new generation of another program, and 5 s otherwise. */
const pauseFactor = 50
const leastPauseMs = 1_000
const longestPauseMs = 5_000

export interface MonitorDependencies {
  snapshot: Snapshot
  /** A generation that was read once distinguishes those of other programs from those of this server. */
  readGeneration(): Promise<unknown>
  /** Changes with a new generation of another program. */
  foreign(): number
  /** Called when a scan has found faults: rows that were trusted before, and are cached, may be refused now. */
  doubt(): void
}

/**
 * The state of all protected rows. It follows the changes of this server; scans of all rows find the changes of others: while rows are
 * used, and once after each new generation of another program.
 */
export function createMonitor({ snapshot, foreign, doubt }: MonitorDependencies, tell: RightsReports) {
  let tables: RightsTables | undefined
  let moves = 0
  /** The changes of this server during a scan. */
  let sinceScan: RightsChange[] | undefined
  let scanning: Promise<void> | undefined
  let foreignAtScan = 0
  let [nextMs, lateMs] = [0, 0]
  let timer: NodeJS.Timeout | undefined

  async function scan(seal: RowMac): Promise<void> {
    const startedMs = performance.now()
    foreignAtScan = foreign()
    sinceScan = []
    try {
      const state = await snapshot((session) => scanRights(session, seal, tables))
      tables = state.tables
      moves += 1
      tell(state.faults)
      if (state.faults.length > 0) doubt()
    } finally {
      if (tables) follow(tables, sinceScan)
      sinceScan = undefined
      const endedMs = performance.now()
      nextMs = endedMs + Math.max(leastPauseMs, pauseFactor * (endedMs - startedMs))
      lateMs = Math.max(nextMs, endedMs + longestPauseMs)
    }
  }

  function start(seal: RowMac): void {
    clearTimeout(timer)
    timer = undefined
    scanning ??= scan(seal)
      .catch(reported)
      .finally(() => {
        scanning = undefined
        if (isForeign()) later(seal)
      })
  }

  const isForeign = () => foreign() !== foreignAtScan

  /** Rows that are read now may be cached until the next generation, and no later use would scan. */
  function later(seal: RowMac): void {
    timer ??= setTimeout(start, nextMs - performance.now(), seal).unref()
  }

  const reported = (error: unknown) => {
    // The database is down: the next use scans again.
    if (error instanceof DomainError) return
    tell([{ table: 'all', id: null, reason: `the scan of all rows failed: ${(error as Error).message}` }])
  }

  return {
    first: scan,
    /** Scans if it is time, or later; waits for the scan when another program has made a new generation. */
    async again(seal: RowMac): Promise<void> {
      const [its, nowMs] = [isForeign(), performance.now()]
      if (nowMs >= (its ? nextMs : lateMs)) start(seal)
      else if (its && !scanning) later(seal)
      if (its) await scanning
    },
    of: (table: RightsTable) => tables?.[table],
    /** Grows when the state changes: the same number before and after a read proves that the state is not newer than the read. */
    moves: () => moves,
    /** Applies the committed changes of a database transaction of this server; version 0: deleted. */
    follow(changes: RightsChange[]): void {
      moves += 1
      if (sinceScan) sinceScan.push(...changes)
      else if (tables) follow(tables, changes)
    },
    async ended() {
      await scanning
      clearTimeout(timer)
    },
  }
}
