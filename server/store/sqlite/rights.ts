import type Database from 'better-sqlite3'
import type { RightsFault, RightsGuard } from '../../domain/rows.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import { type Rights, type Session, StoreError } from '../queries/database.ts'
import { contentOf, Monitor, RowTrust, scanRights, sealChanges } from '../queries/sealed-rows.ts'
import {
  deletionOf,
  distrusted,
  FaultReports,
  faultOf,
  follow,
  listsOfRelayers,
  type RightsChange,
  type RightsTable,
  type NamedRow as Row,
  RowMac,
  rightsColumns,
  rightsTables,
} from '../row-mac.ts'
import { migrations, openReader } from './open-database.ts'
import { createSession } from './session.ts'

/**
 * Checks after every change of the schema that the database has only the service's own triggers and views. A foreign trigger could
 * change rows within the service's statements, and the service would seal these changes. The check throws StoreError.
 */
function schemaCheck(db: Database.Database): () => void {
  const schema = db.prepare<[], { name: string; sql: string }>(
    "SELECT name, sql FROM main.sqlite_schema WHERE type IN ('trigger', 'view')",
  )
  const schemaVersion = db.prepare<[], number>('PRAGMA schema_version').pluck()
  let checkedSchema: number | undefined

  return () => {
    const current = schemaVersion.get()
    if (current === checkedSchema) return
    const isOwn = (sql: string) => migrations.some(({ text }) => text.includes(sql))
    const foreign = schema.all().filter(({ sql }) => !isOwn(sql))
    if (foreign.length > 0) {
      const names = foreign.map(({ name }) => name).join(', ')
      throw new StoreError(`The database has triggers or views that are not the service's: ${names}`)
    }
    checkedSchema = current
  }
}

/**
 * Temporary triggers that call `rights_change` for every change of a protected row, by any statement of this connection. The content of an
 * API key includes the list of its relayers, so it is built once per database transaction and not for each relayer in the list:
 * `rights_is_recorded` tells whether the key's change is known already.
 */
function rightsTriggers(): string {
  const call = (table: RightsTable, kind: string, row: string) =>
    `SELECT rights_change('${table}', '${kind}', ${row}.row_id, ${row}.rights_version, ${row}.rights_mac, ${contentOf('sqlite', table, row)})`
  const columnsOf = (table: RightsTable) => ['row_id', ...rightsColumns[table]]
  const ofTables = rightsTables.flatMap((table) => [
    `CREATE TEMP TRIGGER rights_${table}_insert AFTER INSERT ON main.${table}
     BEGIN SELECT rights_change('${table}', 'insert', NEW.row_id, 0, NULL, ''); END`,
    `CREATE TEMP TRIGGER rights_${table}_update BEFORE UPDATE OF ${columnsOf(table).join(', ')} ON main.${table}
     BEGIN ${call(table, 'update', 'OLD')}; END`,
    `CREATE TEMP TRIGGER rights_${table}_delete BEFORE DELETE ON main.${table}
     BEGIN ${call(table, 'delete', 'OLD')}; END`,
  ])
  const verbs = [
    ['INSERT', 'NEW'],
    ['DELETE', 'OLD'],
  ] as const
  const ofLists = (['api_keys', 'pools'] as const).flatMap((table) => {
    const { table: list, owner } = listsOfRelayers[table]
    return verbs.map(
      ([verb, row]) => `CREATE TEMP TRIGGER rights_${list}_${verb} BEFORE ${verb} ON main.${list}
     WHEN NOT rights_is_recorded('${table}', ${row}.${owner})
     BEGIN ${call(table, 'update', table)} FROM ${table} WHERE row_id = ${row}.${owner}; END`,
    )
  })
  return `${[...ofTables, ...ofLists].join(';\n')};`
}

/**
 * Protects rows that grant rights (API keys, relayers, pools, networks, notifications, signers) with a MAC: whoever can write the database
 * cannot change rights without the master key. Triggers of this connection record every change of such a row, by any statement.
 * Before the commit, changed rows get a new version and a MAC, and the manifest is updated. A row is checked when it is used. A scan
 * of all rows, at startup and after commits by other connections, finds rows that were rolled back or removed.
 */
export class SqliteRights extends RowTrust implements Rights {
  protected readonly monitor: SqliteMonitor
  readonly #db: Database.Database
  readonly #checkSchema: () => void
  readonly #changes = new Map<string, RightsChange>()
  /** The changes that the current database transaction seals; version 0: deleted. */
  #sealed: RightsChange[] = []
  readonly #write: (work: () => Promise<void>) => Promise<void>

  /** `version`: changes when another connection commits. `write`: runs a database transaction. */
  constructor(
    db: Database.Database,
    file: string,
    { version, write }: { version(): number; write(work: () => Promise<void>): Promise<void> },
  ) {
    const reports = new FaultReports()
    super(reports)
    this.monitor = new SqliteMonitor(db, file, version, reports)
    this.#db = db
    this.#checkSchema = schemaCheck(db)
    this.#write = write
  }

  protect(guard: RightsGuard, report: (fault: RightsFault) => void): Promise<void> {
    return this.#write(async () => {
      const mac = new RowMac(guard)
      this.reports.to(report)
      this.#checkSchema()
      const record = (table: RightsTable, kind: string, ...[rowId, version, rightsMac, content]: RecordedRow) => {
        const id = content === '' ? '' : JSON.parse(content)[1]
        const row = { id, row_id: rowId, rights_version: version, rights_mac: rightsMac, rights_content: content }
        this.#record(mac, table, kind, row)
        return null
      }
      this.#db.function('rights_change', { varargs: true }, record as (...values: unknown[]) => null)
      const isRecorded = (table: RightsTable, rowId: number) => Number(this.#changes.has(nameOf(table, rowId)))
      this.#db.function('rights_is_recorded', isRecorded as (...values: unknown[]) => number)
      this.#db.exec(rightsTriggers())
      await this.monitor.first(mac)
      this.mac = mac
    })
  }

  /** Called by the triggers, before a change or after an insert. SQLite allows no statement in it. */
  #record(mac: RowMac, table: RightsTable, kind: string, row: Row): void {
    const name = nameOf(table, row.row_id)
    if (this.#changes.has(name)) return
    const change = { table, row_id: row.row_id, version: row.rights_version }
    if (kind === 'insert') {
      this.#changes.set(name, { ...change, version: 0 })
      return
    }
    const known = this.monitor.of(table)
    const fault = faultOf(mac, table, row, known)
    if (fault) this.reports.tell([fault])
    if (fault && kind === 'update') throw distrusted()
    this.#changes.set(name, fault ? deletionOf(mac, table, row, known) : change)
  }

  // The triggers see every change.
  inserted(): void {}
  async updated(): Promise<void> {}
  async deleted(): Promise<void> {}

  /** Seals the changed rows. Must be called inside the database transaction, before its commit. */
  async seal(session: Session): Promise<void> {
    if (!this.mac || this.#changes.size === 0) return
    this.#checkSchema()
    this.#sealed = await sealChanges(session, this.mac, this.#changes.values())
  }

  /** Must be called after every database transaction. */
  ended(committed: boolean): void {
    if (this.#changes.size === 0) return
    if (committed) this.monitor.follow(this.#sealed)
    this.#changes.clear()
    this.#sealed = []
  }

  close(): void {
    this.monitor.close()
  }
}

type RecordedRow = [rowId: number, version: number, rightsMac: Uint8Array, content: string]

const nameOf = (table: RightsTable, rowId: number) => `${table}:${rowId}`

/** The pause after a scan: 50 times its duration, at least 1 s. */
const leastPauseMs = 1_000
const pauseFactor = 50

/** `version`: changes when another connection commits. */
class SqliteMonitor extends Monitor {
  readonly #db: Database.Database
  readonly #file: string
  readonly #version: () => number
  readonly #reports: FaultReports
  #scannedAt: number | undefined
  #nextScanAt = 0
  #timer: NodeJS.Timeout | undefined
  #reader: Database.Database | undefined
  #starting = Promise.resolve()

  constructor(db: Database.Database, file: string, version: () => number, reports: FaultReports) {
    super()
    this.#db = db
    this.#file = file
    this.#version = version
    this.#reports = reports
  }

  /** The first scan, without steps. Must be called inside a database transaction. */
  async first(mac: RowMac): Promise<void> {
    this.#scannedAt = this.#version()
    const { tables, faults } = await scanRights(createSession(this.#db), mac)
    this.tables = tables
    this.#reports.tell(faults)
  }

  /** Resolves when few rows are scanned; with more, the rest is scanned while they are used. */
  again(mac: RowMac): Promise<void> {
    this.#scanAgain(mac)
    return this.#starting
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#reader?.close()
  }

  /** Scans all rows after a commit of another connection: few rows at once, more in steps between which other work runs. */
  #scanAgain(mac: RowMac): void {
    if (this.sinceScan || this.#timer || this.#version() === this.#scannedAt) return
    const waitMs = this.#nextScanAt - performance.now()
    if (waitMs > 0) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined
        this.#scanAgain(mac)
      }, waitMs).unref()
      return
    }
    const first = Promise.withResolvers<void>()
    this.#starting = first.promise
    void this.#scan(mac, first.resolve)
  }

  /** `started`: called after the first step. */
  async #scan(mac: RowMac, started: () => void): Promise<void> {
    const startedAt = performance.now()
    this.#scannedAt = this.#version()
    const since: RightsChange[] = []
    this.sinceScan = since
    this.#reader ??= openReader(this.#file)
    const reader = this.#reader
    reader.exec('BEGIN')
    try {
      const { tables, faults } = await scanRights(createSession(reader), mac, this.tables, () => {
        started()
        return yieldToEventLoop()
      })
      follow(tables, since)
      this.tables = tables
      this.moves += 1
      this.#reports.tell(faults)
    } catch (error) {
      // The service has ended.
      if (!reader.open) return
      this.#scannedAt = undefined
      const reason = `the scan of all rows failed: ${(error as Error).message}`
      this.#reports.tell([{ table: 'all', id: null, reason }])
    } finally {
      started()
      if (reader.open) reader.exec('COMMIT')
      this.sinceScan = undefined
      this.#nextScanAt = performance.now() + Math.max(leastPauseMs, pauseFactor * (performance.now() - startedAt))
    }
  }
}
