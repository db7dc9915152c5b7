import { closeSync, existsSync, openSync, readSync, realpathSync } from 'node:fs'

export interface WalIndex {
  /** Whether any connection, of any process, has committed since this was last asked. May say yes for nothing, never no. */
  hasMoved(): boolean
  /** To be called when the connection to the database is closed, and not before. */
  close(): void
}

/** Of the two copies of its head the one that is written first (https://www.sqlite.org/walformat.html, 2.1). */
const head_bytes = 48
const head_at = 48

/**
 * The head of the index that all connections to a database in WAL mode share as `FILE-shm`, and that every commit changes. Reading
 * it costs a quarter of `PRAGMA data_version`, which takes a lock for it: 6 us of every signature's request. `file`: the database's.
 */
export function openWalIndex(file: string): WalIndex {
  // SQLite keeps it beside the file that a link means.
  const name = `${realpathSync(file)}-shm`
  const descriptor = openSync(name, 'r')
  const seen = Buffer.alloc(head_bytes)
  const read = Buffer.alloc(head_bytes)
  return {
    hasMoved() {
      const bytes = readSync(descriptor, read, 0, head_bytes, head_at)
      if (bytes === head_bytes && read.equals(seen)) return false
      read.copy(seen)
      return true
    },
    close() {
      // Closing any descriptor of a file gives up all locks that this process holds on it (POSIX), SQLite's too. The file is gone
      // when no connection is left to hold one; else the descriptor stays open.
      if (!existsSync(name)) closeSync(descriptor)
    },
  }
}
