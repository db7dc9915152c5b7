import type Database from 'better-sqlite3'
import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import { type Rights, type Session, StoreError } from '../queries/database.ts'
import { contentOf, createTrust, scanRights, sealChanges } from '../queries/row-mac.ts'
import {
  createReports,
  deletionOf,
  distrusted,
  faultOf,
  follow,
  listsOfRelayers,
  type RightsChange,
  type RightsReports,
  type RightsState,
  type RightsTable,
  type NamedRow as Row,
  type RowMac,
  rightsColumns,
  rightsTables,
  rowMac,
} from '../row-mac.ts'
import { migrations, openReader } from './open-database.ts'
import { createSession } from './session.ts'

/**
 * Checks after every change of the schema that the database has only the service's own triggers and views. A foreign trigger could
 * change rows within the service's statements, and the service would seal these changes. The check throws StoreError.
 */
export function schemaCheck(db: Database.Database): () => void {
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
export function rightsTriggers(): string {
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
export interface SqliteRights extends Rights {
  /** Seals the changed rows. Must be called inside the database transaction, before its commit. */
  seal(session: Session): Promise<void>
  /** Must be called after every database transaction. */
  ended(committed: boolean): void
  close(): void
}

/** `version`: changes when another connection commits. */
export function createRights(db: Database.Database, file: string, version: () => number): SqliteRights {
  let sealing: RowMac | undefined
  const changes = new Map<string, RightsChange>()
  /** The changes that the current database transaction seals; version 0: deleted. */
  let sealed: RightsChange[] = []
  const tell = createReports()
  const monitor = createMonitor(db, file, version, tell)
  const checkSchema = schemaCheck(db)

  function judge(seal: RowMac, table: RightsTable, row: Row): boolean {
    const fault = faultOf(seal, table, row, monitor.of(table))
    if (fault) tell([fault])
    return fault === undefined
  }

  /** Called by the triggers, before a change or after an insert. SQLite allows no statement in it. */
  function change(seal: RowMac, table: RightsTable, kind: string, row: Row): void {
    const name = nameOf(table, row.row_id)
    if (changes.has(name)) return
    const known = { table, row_id: row.row_id, version: row.rights_version }
    if (kind === 'insert') changes.set(name, { ...known, version: 0 })
    else if (judge(seal, table, row)) changes.set(name, known)
    else if (kind === 'update') throw distrusted()
    else changes.set(name, deletionOf(seal, table, row, monitor.of(table)))
  }

  return {
    /** Must be called inside a database transaction. */
    async protect(guard, report) {
      const seal = rowMac(guard)
      tell.to(report)
      checkSchema()
      const call = (table: RightsTable, kind: string, ...[rowId, version, mac, content]: RecordedRow) => {
        const id = content === '' ? '' : JSON.parse(content)[1]
        const row = { id, row_id: rowId, rights_version: version, rights_mac: mac, rights_content: content }
        change(seal, table, kind, row)
        return null
      }
      db.function('rights_change', { varargs: true }, call as (...values: unknown[]) => null)
      const isRecorded = (table: RightsTable, rowId: number) => Number(changes.has(nameOf(table, rowId)))
      db.function('rights_is_recorded', isRecorded as (...values: unknown[]) => number)
      db.exec(rightsTriggers())
      await monitor.first(seal)
      sealing = seal
    },
    ...createTrust(() => sealing, monitor, tell),
    // The triggers see every change.
    inserted() {},
    async updated() {},
    async deleted() {},
    async seal(session) {
      if (!sealing || changes.size === 0) return
      checkSchema()
      sealed = await sealChanges(session, sealing, changes.values())
    },
    ended(committed) {
      if (changes.size === 0) return
      if (committed) monitor.follow(sealed)
      changes.clear()
      sealed = []
    },
    close: monitor.close,
  }
}

type RecordedRow = [rowId: number, version: number, mac: Uint8Array, content: string]

const nameOf = (table: RightsTable, rowId: number) => `${table}:${rowId}`

/** The pause after a scan: 50 times its duration, at least 1 s. */
const leastPauseMs = 1_000
const pauseFactor = 50

/**
 * The state of all protected rows. It follows the changes of this connection; a scan of all rows finds the changes of others.
 * `version`: changes when another connection commits.
 */
export function createMonitor(db: Database.Database, file: string, version: () => number, tell: RightsReports) {
  let state: RightsState | undefined
  /** The changes of this connection during a scan; version 0: deleted. */
  let sinceScan: RightsChange[] | undefined
  let scannedAt: number | undefined
  let nextScanAt = 0
  let timer: NodeJS.Timeout | undefined
  let reader: Database.Database | undefined
  let moves = 0
  let starting = Promise.resolve()

  /** Scans all rows after a commit of another connection: few rows at once, more in steps between which other work runs. */
  function scanAgain(seal: RowMac): void {
    if (sinceScan || timer || version() === scannedAt) return
    const waitMs = nextScanAt - performance.now()
    if (waitMs > 0) {
      timer = setTimeout(() => {
        timer = undefined
        scanAgain(seal)
      }, waitMs).unref()
      return
    }
    const first = Promise.withResolvers<void>()
    starting = first.promise
    void scan(seal, first.resolve)
  }

  /** `started`: called after the first step. */
  async function scan(seal: RowMac, started: () => void): Promise<void> {
    const startedAt = performance.now()
    scannedAt = version()
    sinceScan = []
    reader ??= openReader(file)
    const session = createSession(reader)
    reader.exec('BEGIN')
    try {
      const found = await scanRights(session, seal, state?.tables, () => {
        started()
        return yieldToEventLoop()
      })
      follow(found.tables, sinceScan)
      state = found
      moves += 1
      tell(found.faults)
    } catch (error) {
      // The service has ended.
      if (!reader.open) return
      scannedAt = undefined
      tell([{ table: 'all', id: null, reason: `the scan of all rows failed: ${(error as Error).message}` }])
    } finally {
      started()
      if (reader.open) reader.exec('COMMIT')
      sinceScan = undefined
      nextScanAt = performance.now() + Math.max(leastPauseMs, pauseFactor * (performance.now() - startedAt))
    }
  }

  return {
    /** The first scan, without steps. Must be called inside a database transaction. */
    async first(seal: RowMac): Promise<void> {
      scannedAt = version()
      state = await scanRights(createSession(db), seal)
      tell(state.faults)
    },
    /** Resolves when few rows are scanned; with more, the rest is scanned while they are used. */
    again(seal: RowMac): Promise<void> {
      scanAgain(seal)
      return starting
    },
    of: (table: RightsTable) => state?.tables[table],
    moves: () => moves,
    /** Applies the committed changes of a database transaction of this connection; version 0: deleted. */
    follow(changes: RightsChange[]): void {
      moves += 1
      if (sinceScan) sinceScan.push(...changes)
      else if (state) follow(state.tables, changes)
    },
    close() {
      clearTimeout(timer)
      reader?.close()
    },
  }
}
