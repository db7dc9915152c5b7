import {
  byTable,
  bytesOfRights,
  distrusted,
  emptySums,
  type FaultReports,
  faultOf,
  follow,
  listsOfRelayers,
  type RightsChange,
  type RightsState,
  type RightsTable,
  type RightsTables,
  type RowMac,
  rightsColumns,
  rightsTables,
  Scan,
  type SealedRow,
  sealChange,
  toggle,
  withoutSeal,
} from '../row-mac.ts'
import {
  type Engine,
  type Session,
  type Statement,
  type StoredRow,
  type StoredSeal,
  sql,
  type Trust,
  type Trusted,
} from './database.ts'

/** The row with the content as the text that the MAC covers. */
export const contentAsText = <Row extends StoredSeal>(row: Row): Omit<Row, 'rights_content'> & SealedRow => ({
  ...row,
  rights_content: typeof row.rights_content === 'string' ? row.rights_content : JSON.stringify(row.rights_content),
})

const hex: Record<Engine, (column: string) => string> = {
  sqlite: (column) => `hex(${column})`,
  postgres: (column) => `coalesce(upper(encode(${column}, 'hex')), '')`,
}
// The empty string makes it text: in SQLite, a JSON value keeps its subtype in some contexts and loses it in others.
const aggregated: Record<Engine, string> = {
  sqlite: `json_group_array(relayer_row_id ORDER BY relayer_row_id) || ''`,
  postgres: `'[' || coalesce(string_agg(relayer_row_id::text, ',' ORDER BY relayer_row_id), '') || ']'`,
}
const array: Record<Engine, string> = { sqlite: 'json_array', postgres: 'json_build_array' }

/** An SQL expression: the protected content of a row, as JSON. `row`: the table's name, or OLD in a trigger. */
export function contentOf(engine: Engine, table: RightsTable, row: string = table): string {
  const values = rightsColumns[table].map((name) =>
    bytesOfRights.has(name) ? hex[engine](`${row}.${name}`) : `${row}.${name}`,
  )
  const list = table === 'api_keys' || table === 'pools' ? listsOfRelayers[table] : undefined
  const relayers = list ? [`(SELECT ${aggregated[engine]} FROM ${list.table} WHERE ${list.owner} = ${row}.row_id)`] : []
  return `${array[engine]}(${[`${row}.row_id`, ...values, ...relayers].join(', ')})`
}

/** The columns of `StoredSeal`, as a column list. */
export const sealedColumns = (engine: Engine, table: RightsTable): string =>
  `${table}.row_id, ${table}.rights_version, ${table}.rights_mac, ${contentOf(engine, table)} AS rights_content`

/** A step takes some milliseconds. */
const maxStep = 250

/** The rows that grant rights, with their MACs. */
export const rows = byTable((table): Record<'one' | 'lock' | 'some', Statement<StoredRow>> => {
  const select = (engine: Engine) => `SELECT id, ${sealedColumns(engine, table)} FROM ${table}`
  return {
    one: sql((engine) => `${select(engine)} WHERE row_id = $row_id`),
    lock: sql((engine) => `${select(engine)} WHERE row_id = $row_id FOR NO KEY UPDATE`),
    some: sql((engine) => `${select(engine)} WHERE row_id > $after ORDER BY row_id LIMIT ${maxStep}`),
  }
})
const setSeal = byTable((table) =>
  sql(`UPDATE ${table} SET rights_version = $rights_version, rights_mac = $rights_mac WHERE row_id = $row_id`),
)
export const readManifest = sql<{ sealed: Uint8Array }>('SELECT sealed FROM rights_manifest')
export const lockManifest = sql<{ sealed: Uint8Array }>('SELECT sealed FROM rights_manifest FOR UPDATE')
const setManifest = sql(`
  INSERT INTO rights_manifest (id, sealed) VALUES (1, $sealed) ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed`)

/** The rows of a table in steps. */
async function* stepsOf(session: Session, table: RightsTable): AsyncGenerator<StoredRow[]> {
  for (let after = 0; ; ) {
    const some = await session.all(rows[table].some, { after })
    yield some
    if (some.length < maxStep) return
    after = some.at(-1)?.row_id as number
  }
}

/**
 * Scans every protected row. `session`: all statements must see one state. `known`: the result of the previous scan. `pause`: called after
 * each full step.
 */
export async function scanRights(
  session: Session,
  seal: RowMac,
  known?: RightsTables,
  pause: () => Promise<void> = async () => {},
): Promise<RightsState> {
  const scan = new Scan(seal, seal.openManifest((await session.one(readManifest))?.sealed), known)
  for (const table of rightsTables) {
    for await (const some of stepsOf(session, table)) {
      for (const row of some) scan.add(table, contentAsText(row))
      if (some.length === maxStep) await pause()
    }
  }
  return scan.end()
}

/**
 * Gives every protected row a new version and a MAC for its present content, and writes a new manifest. Must be called inside a database
 * transaction. Resolves to their number.
 */
export async function sealAll(session: Session, seal: RowMac, firstVersion: number): Promise<number> {
  const sums = emptySums()
  let version = firstVersion
  for (const table of rightsTables) {
    for await (const some of stepsOf(session, table)) {
      for (const row of some) {
        version += 1
        const rightsMac = seal.macOf(table, { ...contentAsText(row), rights_version: version })
        await session.run(setSeal[table], { row_id: row.row_id, rights_version: version, rights_mac: rightsMac })
        toggle(sums[table], seal.element(table, row.row_id, version))
      }
    }
  }
  await session.run(setManifest, { sealed: seal.sealManifest({ version, sums }) })
  return version - firstVersion
}

/**
 * Gives the changed rows of a database transaction a new version and a MAC, and changes the manifest, whose lock is taken after those of
 * all rows. Resolves to the changes with the new versions; version 0: deleted.
 */
export async function sealChanges(
  session: Session,
  seal: RowMac,
  changes: Iterable<RightsChange>,
): Promise<RightsChange[]> {
  const manifest = seal.openManifest((await session.one(lockManifest))?.sealed)
  if (!manifest) throw new Error('The manifest of the rows that grant rights is missing')
  const sealed: RightsChange[] = []
  for (const change of changes) {
    const { table, row_id } = change
    const row = await session.one(rows[table].one, { row_id })
    const done = sealChange(seal, manifest, change, row && contentAsText(row))
    if (done) await session.run(setSeal[table], { row_id, ...done })
    sealed.push({ table, row_id, version: done?.rights_version ?? 0 })
  }
  await session.run(setManifest, { sealed: seal.sealManifest(manifest) })
  return sealed
}

/** The state of all protected rows: scans find the changes of other programs, and it follows the changes of this process. */
export abstract class Monitor {
  protected tables: RightsTables | undefined
  /** The changes of this process during a scan; version 0: deleted. */
  protected sinceScan: RightsChange[] | undefined
  /** Grows when the state changes: the same number before and after a read proves that the state is not newer than the read. */
  moves = 0

  /** Scans again if another program may have changed rows. */
  abstract again(mac: RowMac): Promise<void>

  of(table: RightsTable): RightsTables[RightsTable] | undefined {
    return this.tables?.[table]
  }

  /** Applies the committed changes of a database transaction of this process; version 0: deleted. */
  follow(changes: RightsChange[]): void {
    this.moves += 1
    if (this.sinceScan) this.sinceScan.push(...changes)
    else if (this.tables) follow(this.tables, changes)
  }
}

/** How often rows are read again that changed meanwhile. */
const maxReads = 10

/** The check of rows when they are used. Before `protect`, all rows are trusted. */
export abstract class RowTrust implements Trust {
  protected mac: RowMac | undefined
  protected readonly reports: FaultReports
  protected abstract readonly monitor: Monitor

  constructor(reports: FaultReports) {
    this.reports = reports
  }

  async trusted<R extends StoredRow>(table: RightsTable, read: () => Promise<R[]>): Promise<Trusted<R>[]> {
    const found = await this.#judged(table, read)
    return found.filter(({ isTrusted }) => isTrusted).map(({ row }) => withoutSeal(row))
  }

  async require<R extends StoredRow>(table: RightsTable, read: () => Promise<R | undefined>, id?: string) {
    const [found] = await this.#judged(table, async () => {
      const row = await read()
      return row ? [row] : []
    })
    if (!found) return undefined
    if (!found.isTrusted || (id !== undefined && found.row.id !== id)) throw distrusted()
    return withoutSeal(found.row)
  }

  async requireAll<R extends StoredRow>(table: RightsTable, read: () => Promise<R[]>): Promise<Trusted<R>[]> {
    const found = await this.#judged(table, read)
    if (found.some(({ isTrusted }) => !isTrusted)) throw distrusted()
    return found.map(({ row }) => withoutSeal(row))
  }

  async #judged<R extends StoredRow>(table: RightsTable, read: () => Promise<R[]>) {
    const { mac, monitor } = this
    if (!mac) return (await read()).map((row) => ({ row, isTrusted: true }))
    await monitor.again(mac)
    for (let reads = 1; ; reads += 1) {
      const { moves } = monitor
      const found = (await read()).map((row) => ({
        row,
        fault: faultOf(mac, table, contentAsText(row), monitor.of(table)),
      }))
      // The row may have been read before a change, and checked against the state after it.
      const mayBeOld = moves !== monitor.moves && found.some(({ fault }) => fault?.reason === 'rolled back')
      if (mayBeOld && reads < maxReads) continue
      this.reports.tell(found.flatMap(({ fault }) => fault ?? []))
      return found.map(({ row, fault }) => ({ row, isTrusted: fault === undefined }))
    }
  }
}
