import type { AuditEntry, PendingAuditEntry } from '../../domain/rows.ts'
import type { Account } from '../../domain/transaction-rows.ts'

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
 * them names that relayers share: lanes of sponsored transactions, and ids against a second transaction (store/queries/insert-transaction.ts).
 */
export interface RelayersToLock {
  pools?: number[]
  relayers?: number[]
  transactions?: number[]
  accounts?: Account[]
  names?: string[]
}

/**
 * One database transaction. Its work waits for nothing but the statements: meanwhile, all other database transactions wait on SQLite, and
 * those that need the same locks on PostgreSQL. On SQLite, the locks do nothing.
 */
export interface Transaction extends Session {
  /** Locks the rows of relayers, by ascending row id, until the commit. */
  lockRelayers(wanted: RelayersToLock): Promise<void>
  /** Locks the rows of notifications until the commit: no other database transaction adds or changes their deliveries. */
  lockNotifications(rowIds: number[]): Promise<void>
  /** Commits an audit entry with this database transaction. */
  record(entry: AuditEntry | PendingAuditEntry): void
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

/** A change that shares commits with others, with the audit entry of its request. */
export type Grouped<In, Out> = (input: In, auditEntry?: PendingAuditEntry) => Promise<Out>

/** How several changes of one method are made together. SQLite, where a statement costs no round trip, makes each by itself. */
export interface Together<In, Out, Ahead> {
  /** They are made before other changes of the commit, which could change what they have read ahead. One method at most. */
  isFirst?: true
  /** Reads what they need, under the locks of their relayers. It changes nothing. */
  readAhead(transaction: Transaction, inputs: In[]): Promise<Ahead>
  /** Makes them, and records their audit entries. Resolves to their results, in the same order. */
  make(transaction: Transaction, requested: Requested<In>[], ahead: Ahead): Promise<Out[]>
}

/** A change that is made alone. */
export const oneByOne = <In, Out>(
  one: (transaction: Transaction, input: In) => Promise<Out>,
): Together<In, Out, undefined> => ({
  readAhead: async () => undefined,
  async make(transaction, requested) {
    const done: Out[] = []
    for (const { auditEntry, input } of requested) {
      done.push(await transaction.attributed(auditEntry, () => one(transaction, input)))
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

export type Truth = boolean | 0 | 1

/** The functions for the greatest and the least of some values, none of which is NULL. */
export const greatest: Record<Engine, string> = { sqlite: 'max', postgres: 'greatest' }
export const least: Record<Engine, string> = { sqlite: 'min', postgres: 'least' }

/** After the name of a table: the index to use. PostgreSQL takes no such hint; SQLite would choose an index of all rows. */
export const indexedBy: Record<Engine, (index: string) => string> = {
  sqlite: (index) => ` INDEXED BY ${index}`,
  postgres: () => '',
}
