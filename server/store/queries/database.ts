import { DomainError } from '../../domain/errors.ts'
import type { Observer } from '../../domain/observer.ts'
import type {
  AuditEntry,
  InUse,
  Listing,
  PageRequest,
  PendingAuditEntry,
  RightsFault,
  RightsGuard,
} from '../../domain/rows.ts'
import type { Account } from '../../domain/transaction-rows.ts'
import type { NamedRow, RightsTable, SealedRow } from '../row-mac.ts'

/** The store's dependencies outside the database: the wall clock (milliseconds since the Unix epoch), unique ids, and the contract. */
export interface StoreDependencies {
  now(): number
  makeId(): string
  /** Checks an event against the contract's schema; undefined when it is valid. */
  checkEvent(event: unknown): string | undefined
  observer?: Observer
  /** Checkpoints run in a thread of their own: for a store that serves requests. */
  checkpointsApart?: boolean
  /** Called when the disk has failed: this process must not write any more. */
  broken?(error: unknown): void
  /** Called with the reason when the database goes down, and with undefined when it is up again. */
  databaseDown?(reason?: string): void
  /** Called for each setting of the database server with which acknowledged commits may be lost. */
  weakDatabase?(setting: string): void
}

/** `now`: replaces the wall clock that all users of the database share. */
export type StoreWorld = Omit<StoreDependencies, 'now'> & Partial<Pick<StoreDependencies, 'now'>>

/** Those of a command, which writes no events. */
export const commandDependencies: StoreDependencies = {
  now: Date.now,
  makeId() {
    throw new Error('A command writes no events')
  },
  checkEvent: () => 'A command writes no events',
}

/** Runs statements: each by itself, or all in one database transaction. */
export interface Session {
  all<Row extends object>(statement: Statement<Row>, values?: Values): Promise<Row[]>
  one<Row extends object>(statement: Statement<Row>, values?: Values): Promise<Row | undefined>
  /** The number of rows that it inserted, changed or removed. */
  run(statement: Statement<object>, values?: Values): Promise<number>
  /**
   * The same for several records: SQLite runs the statement for each of them, with its members as parameters; PostgreSQL runs its own text
   * once, with all of them in the parameter `rows`, in JSON (bytes as hex). `values`: of all records.
   */
  allOf<Row extends object>(statement: Statement<Row>, records: readonly object[], values?: Values): Promise<Row[]>
  runOf(statement: Statement<object>, records: readonly object[], values?: Values): Promise<number>
}

/**
 * The relayers that a change concerns: by their own row ids, by those of their transactions, or by their accounts. Before them pools, after
 * them names that relayers share: exclusive keys of sponsored transactions, and ids against a second transaction
 * (store/queries/insert-rules.ts).
 */
export interface RelayersToLock {
  pools?: number[]
  relayers?: number[]
  transactions?: number[]
  accounts?: Account[]
  names?: string[]
}

/** The audit entries of one database transaction. A request of whose changes some are committed has no entry beside theirs. */
export class CommitEntries {
  readonly all: AuditEntry[] = []
  readonly #recorded: (AuditEntry | PendingAuditEntry)[] = []

  record(entry: AuditEntry | PendingAuditEntry, about?: Partial<AuditEntry>): void {
    this.all.push(about ? { ...entry, ...about } : entry)
    this.#recorded.push(entry)
  }

  committed(): void {
    for (const entry of this.#recorded) if ('recorded' in entry) entry.recorded = true
  }
}

/**
 * One database transaction. Its work waits for nothing but the statements: meanwhile, all other database transactions wait on SQLite, and
 * those that need the same locks on PostgreSQL. On SQLite, the locks do nothing.
 */
export interface DatabaseTransaction extends Session {
  effects: StoreDependencies
  /** Locks the rows of relayers, by ascending row id, until the commit. */
  lockRelayers(wanted: RelayersToLock): Promise<void>
  /** Locks the rows of notifications until the commit: no other database transaction adds or changes their deliveries. */
  lockNotifications(rowIds: number[]): Promise<void>
  /** Commits an audit entry with this database transaction. `about`: what the change concerns, where the request does not name it. */
  record(entry: AuditEntry, about?: Partial<AuditEntry>): void
  /** Records the entry if `work` changes a row. */
  attributed<T>(entry: PendingAuditEntry | undefined, work: () => Promise<T>): Promise<T>
  /** Runs before the commit, in the order of registration. */
  beforeCommit(work: () => Promise<void>): void
  /** Runs after the commit; not after a rollback, and once when the database transaction was repeated. */
  afterCommit(work: () => void): void
  /** How many rows were changed so far. */
  changes(): number
}

/** A change that is requested, with the audit entry of its request. */
export interface Requested<In> {
  auditEntry: PendingAuditEntry | undefined
  input: In
}

/** A kind of change that shares commits with others, and how several of it are made together. */
export interface GroupedChange<In, Out, Ahead = unknown, ToLock = RelayersToLock> {
  /** The relayers that it concerns, or its notification. */
  toLock(input: In): ToLock
  /** They are made before other changes of the commit, which could change what they have read ahead. One kind at most. */
  isFirst?: true
  /** Reads what they need, under the locks of their relayers. It changes nothing. */
  readAhead(dbTransaction: DatabaseTransaction, inputs: In[]): Promise<Ahead>
  /** Makes them, and records their audit entries. Resolves to their results, in the same order. */
  make(dbTransaction: DatabaseTransaction, requested: Requested<In>[], ahead: Ahead): Promise<Out[]>
}

/** A kind of change that is made alone. */
export const oneByOne = <In, Out, ToLock = RelayersToLock>(
  toLock: (input: In) => ToLock,
  one: (dbTransaction: DatabaseTransaction, input: In) => Promise<Out>,
): GroupedChange<In, Out, undefined, ToLock> => ({
  toLock,
  readAhead: async () => undefined,
  async make(dbTransaction, requested) {
    const done: Out[] = []
    for (const { auditEntry, input } of requested) {
      done.push(await dbTransaction.attributed(auditEntry, () => one(dbTransaction, input)))
    }
    return done
  },
})

export type Value = string | number | bigint | null | Uint8Array | readonly (string | number | Uint8Array | null)[]
export type Values = Readonly<Record<string, Value>>

export type Engine = 'sqlite' | 'postgres'

/** A statement with parameters of the form `$name`, in the words of each database. */
export interface Statement<Row extends object> {
  text: Readonly<Record<Engine, string>>
  /** Only its type is used. */
  readonly row?: Row
}

/**
 * A statement of the rules. One text serves both databases where it uses what both have. It is written for PostgreSQL; for SQLite, the
 * casts of parameters and the locks of rows (FOR UPDATE) are left out, and `= ANY ($list::type[])` is a list in JSON (sqlite/session.ts).
 * `Row`: the type of the rows that it returns; absent: none. A condition in the column list is 0 or 1 in SQLite, and a boolean in
 * PostgreSQL: its type is `Truth`.
 */
export function sql<Row extends object = Record<never, never>>(
  text: string | ((engine: Engine) => string) | Statement<Row>['text'],
): Statement<Row> {
  if (typeof text === 'string') return { text: { sqlite: text, postgres: text } }
  return { text: typeof text === 'function' ? { sqlite: text('sqlite'), postgres: text('postgres') } : text }
}

/** The members of a record, with their types in PostgreSQL. */
type RecordTypes = Readonly<Record<string, 'bigint' | 'integer' | 'text' | 'bytea'>>

/** Bytes are hex in JSON (postgres/session.ts). */
const recordsAs = (name: string, types: RecordTypes): string => {
  const members = Object.entries(types).map(([member, type]) => `${member} ${type === 'bytea' ? 'text' : type}`)
  return `json_to_recordset($rows::json) AS ${name} (${members.join(', ')})`
}

/** An INSERT of records (`runOf`), whose members are the columns: one after the other in SQLite, all at once in PostgreSQL. */
export const insertInto = (table: string, types: RecordTypes, onConflict = ''): Statement<Record<never, never>> => {
  const names = Object.keys(types)
  const values = names.map((name) => (types[name] === 'bytea' ? `decode(${name}, 'hex')` : name))
  return sql((engine) => {
    const source =
      engine === 'sqlite'
        ? `VALUES (${names.map((name) => `$${name}`).join(', ')})`
        : `SELECT ${values.join(', ')} FROM ${recordsAs('new', types)}`
    return `INSERT INTO ${table} (${names.join(', ')}) ${source} ${onConflict}`
  })
}

/**
 * A query of each of several records (`allOf`): one after the other in SQLite, all at once in PostgreSQL. `query`: its text for one record;
 * `record` stands before the names of its members. `shown`: members that the rows have too.
 */
export const selectForEach = <Row extends object>(
  types: RecordTypes,
  query: (record: string, engine: Engine) => string,
  { shown = [], order = '' }: { shown?: string[]; order?: string } = {},
): Statement<Row> =>
  sql<Row>((engine) => {
    const isPlain = shown.length === 0 && order === ''
    if (engine === 'sqlite' && isPlain) return query('$', engine)
    const of = (record: string) => shown.map((name) => `${record}${name} AS ${name}, `).join('')
    // OFFSET 0: each record is looked up by the index. A join would read the whole table while it is small.
    return engine === 'sqlite'
      ? `SELECT ${of('$')}its.* FROM (${query('$', engine)}) AS its ${order}`
      : `SELECT ${of('wanted.')}its.* FROM ${recordsAs('wanted', types)},
           LATERAL (${query('wanted.', engine)} OFFSET 0) AS its ${order}`
  })

export type Truth = boolean | 0 | 1

/** The functions for the greatest and the least of some values, none of which is NULL. */
export const greatest: Record<Engine, string> = { sqlite: 'max', postgres: 'greatest' }
export const least: Record<Engine, string> = { sqlite: 'min', postgres: 'least' }

/** After the name of a table: the index to use. PostgreSQL takes no such hint; SQLite would choose an index of all rows. */
export const indexedBy: Record<Engine, (index: string) => string> = {
  sqlite: (index) => ` INDEXED BY ${index}`,
  postgres: () => '',
}

/** A row with its MAC as it is read: PostgreSQL gives the content as values. */
export type StoredSeal = Omit<SealedRow, 'rights_content'> & { rights_content: string | unknown[] }
export type StoredRow = StoredSeal & Pick<NamedRow, 'id'>

export type Trusted<R extends StoredRow> = Omit<R, Exclude<keyof SealedRow, 'row_id'>>

/** The check of rows that grant rights when they are used. `read` may be called again. */
export interface Trust {
  /** The rows that the service wrote; the others are reported. */
  trusted<R extends StoredRow>(table: RightsTable, read: () => Promise<R[]>): Promise<Trusted<R>[]>
  /** The row without its MAC. Throws DomainError (503) when it is not trusted, or does not have the requested id. */
  require<R extends StoredRow>(
    table: RightsTable,
    read: () => Promise<R | undefined>,
    id?: string,
  ): Promise<Trusted<R> | undefined>
  /** The same for several rows, all of which must be trusted. */
  requireAll<R extends StoredRow>(table: RightsTable, read: () => Promise<R[]>): Promise<Trusted<R>[]>
}

/** Changes of rows that grant rights, which get a new MAC before the commit. Before `protect`, rows carry none. */
export interface Rights extends Trust {
  /** Starts checking rows and sealing changes. Throws StoreError when the schema has triggers of other programs. */
  protect(guard: RightsGuard, report: (fault: RightsFault) => void): Promise<void>
  inserted(dbTransaction: DatabaseTransaction, table: RightsTable, rowId: number): void
  /** Must be called before the change. Throws DomainError (503) when the row is not trusted. */
  updated(dbTransaction: DatabaseTransaction, table: RightsTable, rowId: number): Promise<void>
  /** Must be called before the row is deleted. */
  deleted(dbTransaction: DatabaseTransaction, table: RightsTable, rowId: number): Promise<void>
}

type ListedTable =
  | 'networks'
  | 'abis'
  | 'pools'
  | 'sponsorships'
  | 'facilitators'
  | 'signers'
  | 'relayers'
  | 'notifications'
  | 'api_keys'

export interface TableList<Row extends object, T> {
  table: ListedTable
  columns: string | Record<Engine, string>
  read(row: Row): T
}

/** `readAll`: resolves to the found values by name. */
export interface KeyedReads<Key, Name, Value> {
  nameOf(key: Key): Name
  readAll(database: Database, keys: Key[]): Promise<ReadonlyMap<Name, Value>>
}

/** One value for each key, which is made when it is first used. */
export function madeOnce<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, Value>()
  return (key) => {
    const value = known.get(key) ?? make(key)
    known.set(key, value)
    return value
  }
}

/** One database, as the rules use it. */
export interface Database {
  effects: StoreDependencies
  /** Each statement by itself. It sees what was committed before it. */
  read: Session
  /**
   * Runs `work` in one database transaction; an error rolls it back. `auditEntry`: committed with its changes, if there are any.
   */
  write<T>(work: (dbTransaction: DatabaseTransaction) => Promise<T>, auditEntry?: PendingAuditEntry): Promise<T>
  /** Like `write`, for changes of configuration: one at a time. */
  writeAlone<T>(work: (dbTransaction: DatabaseTransaction) => Promise<T>, auditEntry?: PendingAuditEntry): Promise<T>
  /** Like `writeAlone`, for changes of rows that servers cache: with a new generation if it changes a row. */
  writeCached<T>(work: (dbTransaction: DatabaseTransaction) => Promise<T>, auditEntry?: PendingAuditEntry): Promise<T>
  /** The MACs of rows that grant rights. */
  rights: Rights
  /**
   * Makes a change in a commit that it shares with others; each fails alone. SQLite, where a statement costs no round trip, makes each by
   * itself.
   */
  groupCommit<In, Out, Ahead>(
    change: GroupedChange<In, Out, Ahead>,
    input: In,
    auditEntry?: PendingAuditEntry,
  ): Promise<Out>
  /** The same for a change of deliveries; `toLock`: the row id of their notification. */
  groupCommitOfDeliveries<In, Out, Ahead>(change: GroupedChange<In, Out, Ahead, number>, input: In): Promise<Out>
  /** Reads by key, for many callers. On PostgreSQL, keys that are asked for at one time share a statement. */
  readTogether<Key, Name, Value>(reads: KeyedReads<Key, Name, Value>, key: Key): Promise<Value | undefined>
  /** Lists a table in order of creation. Counting costs as much as the table's size: for tables that people fill by hand. */
  list<Row extends object, T>(list: TableList<Row, T>, slice: PageRequest): Promise<Listing<T>>
}

/** The database cannot be used. The message gives the operator the reason. */
export class StoreError extends Error {}

/** The database cannot be used at present. It may be started again, or be reached again, at any time. */
export class DatabaseDown extends StoreError {}

/** The connection was lost, or the disk failed, at a commit: the changes were made or not. Nothing repeats them by itself. */
export class UnknownOutcome extends DomainError {
  constructor(
    explanation = 'The connection to the database was lost during the commit, so whether this request took effect is unknown; repeat a transaction only with its Idempotency-Key',
  ) {
    // Without Retry-After, by which programs repeat a request that did nothing.
    super('outcome_unknown', [{ of: 'store', field: [], message: explanation }])
  }
}

/** Those that the statement finds, as the reason why a row is not deleted; undefined: nothing uses it. */
export async function usersOf(
  session: Session,
  usedBy: InUse['used_by'],
  statement: Statement<{ id: string }>,
  values: Values,
): Promise<InUse | undefined> {
  const rows = await session.all(statement, values)
  return rows.length === 0 ? undefined : { used_by: usedBy, ids: rows.map(({ id }) => id) }
}
