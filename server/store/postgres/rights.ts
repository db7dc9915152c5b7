import { DomainError } from '../../domain/errors.ts'
import type { RightsFault, RightsGuard } from '../../domain/rows.ts'
import { type DatabaseTransaction, type Rights, type Session, StoreError, sql } from '../queries/database.ts'
import { contentAsText, Monitor, RowTrust, rows, scanRights, sealChanges } from '../queries/sealed-rows.ts'
import {
  deletionOf,
  distrusted,
  FaultReports,
  faultOf,
  follow,
  type RightsChange,
  type RightsTable,
  RowMac,
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
async function checkSchema(session: Session): Promise<void> {
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
export class PostgresRights extends RowTrust implements Rights {
  protected readonly monitor: PostgresMonitor
  readonly #dependencies: MonitorDependencies
  readonly #changesOf = new WeakMap<DatabaseTransaction, Map<string, RightsChange>>()

  constructor(dependencies: MonitorDependencies) {
    const reports = new FaultReports()
    super(reports)
    this.monitor = new PostgresMonitor(dependencies, reports)
    this.#dependencies = dependencies
  }

  async protect(guard: RightsGuard, report: (fault: RightsFault) => void): Promise<void> {
    await this.#dependencies.readGeneration()
    const mac = new RowMac(guard)
    this.reports.to(report)
    await this.#dependencies.snapshot(checkSchema)
    await this.monitor.scan(mac)
    this.mac = mac
  }

  inserted(dbTransaction: DatabaseTransaction, table: RightsTable, rowId: number): void {
    if (this.mac) this.#add(dbTransaction, this.mac, { table, row_id: rowId, version: 0 })
  }

  updated(dbTransaction: DatabaseTransaction, table: RightsTable, rowId: number): Promise<void> {
    return this.#change(dbTransaction, { table, row_id: rowId }, false)
  }

  deleted(dbTransaction: DatabaseTransaction, table: RightsTable, rowId: number): Promise<void> {
    return this.#change(dbTransaction, { table, row_id: rowId }, true)
  }

  close(): Promise<void> {
    return this.monitor.ended()
  }

  #add(dbTransaction: DatabaseTransaction, mac: RowMac, change: RightsChange): void {
    const known = this.#changesOf.get(dbTransaction)
    const changes = known ?? new Map<string, RightsChange>()
    const name = nameOf(change)
    if (!changes.has(name)) changes.set(name, change)
    if (known) return
    this.#changesOf.set(dbTransaction, changes)
    dbTransaction.beforeCommit(async () => {
      await checkSchema(dbTransaction)
      const sealed = await sealChanges(dbTransaction, mac, changes.values())
      dbTransaction.afterCommit(() => this.monitor.follow(sealed))
    })
  }

  async #change(
    dbTransaction: DatabaseTransaction,
    place: Pick<RightsChange, 'table' | 'row_id'>,
    isDeletion: boolean,
  ) {
    const { mac } = this
    if (!mac || this.#changesOf.get(dbTransaction)?.has(nameOf(place))) return
    const stored = await dbTransaction.one(rows[place.table].lock, { row_id: place.row_id })
    if (!stored) return
    const row = contentAsText(stored)
    const known = this.monitor.of(place.table)
    const fault = faultOf(mac, place.table, row, known)
    if (fault) this.reports.tell([fault])
    if (fault && !isDeletion) throw distrusted()
    const change = { ...place, version: row.rights_version }
    this.#add(dbTransaction, mac, fault ? deletionOf(mac, place.table, row, known) : change)
  }
}

const nameOf = ({ table, row_id }: Pick<RightsChange, 'table' | 'row_id'>) => `${table}:${row_id}`

/** The pause after a scan: 50 times its duration, at least 1 s after a new generation of another program, and 5 s otherwise. */
const pauseFactor = 50
const leastPauseMs = 1_000
const longestPauseMs = 5_000

interface MonitorDependencies {
  snapshot: Snapshot
  /** A generation that was read once distinguishes those of other programs from those of this server. */
  readGeneration(): Promise<unknown>
  /** Changes with a new generation of another program. */
  foreign(): number
  /** Called when a scan has found faults: rows that were trusted before, and are cached, may be refused now. */
  doubt(): void
}

/** Scans while rows are used, and once after each new generation of another program. */
class PostgresMonitor extends Monitor {
  readonly #dependencies: MonitorDependencies
  readonly #reports: FaultReports
  #scanning: Promise<void> | undefined
  #foreignAtScan = 0
  #nextMs = 0
  #lateMs = 0
  #timer: NodeJS.Timeout | undefined

  constructor(dependencies: MonitorDependencies, reports: FaultReports) {
    super()
    this.#dependencies = dependencies
    this.#reports = reports
  }

  async scan(mac: RowMac): Promise<void> {
    const startedMs = performance.now()
    const { snapshot, foreign, doubt } = this.#dependencies
    this.#foreignAtScan = foreign()
    const since: RightsChange[] = []
    this.sinceScan = since
    try {
      const { tables, faults } = await snapshot((session) => scanRights(session, mac, this.tables))
      this.tables = tables
      this.moves += 1
      this.#reports.tell(faults)
      if (faults.length > 0) doubt()
    } finally {
      if (this.tables) follow(this.tables, since)
      this.sinceScan = undefined
      const endedMs = performance.now()
      this.#nextMs = endedMs + Math.max(leastPauseMs, pauseFactor * (endedMs - startedMs))
      this.#lateMs = Math.max(this.#nextMs, endedMs + longestPauseMs)
    }
  }

  /** Scans if it is time, or later; waits for the scan when another program has made a new generation. */
  async again(mac: RowMac): Promise<void> {
    const [isForeign, nowMs] = [this.#isForeign(), performance.now()]
    if (nowMs >= (isForeign ? this.#nextMs : this.#lateMs)) this.#start(mac)
    else if (isForeign && !this.#scanning) this.#later(mac)
    if (isForeign) await this.#scanning
  }

  async ended(): Promise<void> {
    await this.#scanning
    clearTimeout(this.#timer)
  }

  #isForeign(): boolean {
    return this.#dependencies.foreign() !== this.#foreignAtScan
  }

  #start(mac: RowMac): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#scanning ??= this.scan(mac)
      .catch((error) => this.#report(error))
      .finally(() => {
        this.#scanning = undefined
        if (this.#isForeign()) this.#later(mac)
      })
  }

  /** Rows that are read now may be cached until the next generation, and no later use would scan. */
  #later(mac: RowMac): void {
    this.#timer ??= setTimeout(() => this.#start(mac), this.#nextMs - performance.now()).unref()
  }

  #report(error: unknown): void {
    // The database is down: the next use scans again.
    if (error instanceof DomainError) return
    const reason = `the scan of all rows failed: ${(error as Error).message}`
    this.#reports.tell([{ table: 'all', id: null, reason }])
  }
}
