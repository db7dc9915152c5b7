import type { Listing, PageRequest, PendingAuditEntry } from '../../domain/rows.ts'
import type { Rights } from './row-mac.ts'
import type { Engine, Grouped, RelayersToLock, Session, Together, Transaction } from './session.ts'

export type ListedTable =
  | 'networks'
  | 'abis'
  | 'pools'
  | 'sponsorships'
  | 'signers'
  | 'relayers'
  | 'notifications'
  | 'api_keys'

/** One database, as the rules use it. */
export interface Database {
  /** Each statement by itself. It sees what was committed before it. */
  read: Session
  /**
   * Runs `work` in one database transaction; an error rolls it back. `auditEntry`: committed with its changes, if there are any.
   */
  write<T>(work: (transaction: Transaction) => Promise<T>, auditEntry?: PendingAuditEntry): Promise<T>
  /** Like `write`, for changes of configuration: one at a time. */
  writeAlone<T>(work: (transaction: Transaction) => Promise<T>, auditEntry?: PendingAuditEntry): Promise<T>
  /** Like `writeAlone`, for changes of rows that servers cache: with a new generation if it changes a row. */
  writeCached<T>(work: (transaction: Transaction) => Promise<T>, auditEntry?: PendingAuditEntry): Promise<T>
  /** The MACs of rows that grant rights. */
  rights: Rights
  /** Changes that share commits; each fails alone. `toLock`: the relayers that a change concerns. */
  groupCommit<In, Out>(
    toLock: (input: In) => RelayersToLock,
    one: (transaction: Transaction, input: In) => Promise<Out>,
  ): Grouped<In, Out>
  /** The same for a method whose changes can be made together. */
  groupCommitTogether<In, Out, Ahead>(
    toLock: (input: In) => RelayersToLock,
    together: Together<In, Out, Ahead>,
  ): Grouped<In, Out>
  /** The same for changes of deliveries. `toLock`: the row id of their notification. */
  groupCommitOfDeliveries<In, Out>(
    toLock: (input: In) => number,
    one: (transaction: Transaction, input: In) => Promise<Out>,
  ): Grouped<In, Out>
  /**
   * Reads by key, for many callers. `readAll`: resolves to the found values by name. On PostgreSQL, keys that are asked for at one time
   * share a statement.
   */
  readTogether<Key, Name, Value>(
    nameOf: (key: Key) => Name,
    readAll: (keys: Key[]) => Promise<ReadonlyMap<Name, Value>>,
  ): (key: Key) => Promise<Value | undefined>
  /** Lists a table in order of creation. Counting costs as much as the table's size: for tables that people fill by hand. */
  lister<Row extends object, T>(
    table: ListedTable,
    columns: string | Record<Engine, string>,
    read: (row: Row) => T,
  ): (slice: PageRequest) => Promise<Listing<T>>
}
