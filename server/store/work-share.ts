/** The kinds of background work that servers share. */
export type WorkKind = 'sender' | 'deliverer' | 'bulk changes' | 'retention' | 'gauges' | 'funding'

/**
 * The part of one kind of background work that this process does. Work belongs to rows (the sender's to relayers, each of which is an
 * account; the funding's to the relayers that get funds; the deliverer's to notifications; the others' to row 0). A row has one worker at a time among all processes and servers.
 */
export interface WorkShare {
  /**
   * Takes this process's part of the rows that have work, which are all of them among all servers. `own`: those that it may work on.
   * `surplus`: rows to give back, because others have too few, or because they have had no work for a while.
   */
  divide(rowIds: number[]): Promise<{ own: number[]; surplus: number[] }>
  /** Whether this process may work on the row. Takes it when it is free and this process has no more than its share. */
  claim(rowId: number): Promise<boolean>
  /** Whether this process may work on the row, by the monotonic clock: asked directly before each signature. */
  holds(rowId: number): boolean
  /** A number that is another one after the row was lost and taken again: another process may have worked on it meanwhile. */
  lease(rowId: number): number | undefined
  /** The rows that this process has. */
  held(): number[]
  /** Runs `work` on a row. Once the row is another's, changes of the store inside `work` are rejected with LeaseLost. */
  under<T>(rowId: number, work: () => Promise<T>): Promise<T>
  giveBack(rowId: number): Promise<void>
  /** Takes no more rows. */
  leave(): void
  /** Gives all rows back, and takes no more. */
  release(): Promise<void>
  /** `freed`: called when rows may have become free. */
  watch(freed: () => void): void
}

/** Another process may work on the row now: this one must stop. */
export class LeaseLost extends Error {
  constructor() {
    super('Another process has taken this work over')
  }
}
