import type { Observer } from '../domain/observer.ts'

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
