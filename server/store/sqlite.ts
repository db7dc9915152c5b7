import type { StoreWorld } from './queries/database.ts'
import { bindQueries } from './queries/store-queries.ts'
import { audit } from './sqlite/audit.ts'
import { connect } from './sqlite/connection.ts'
import { workShares } from './sqlite/work-share.ts'
import type { Store } from './store.ts'

/** The store in one SQLite file. */
export function openSqliteStore(file: string, world: StoreWorld): Store {
  const connection = connect(file, world)
  return {
    generation: oncePerTurn(connection.generation),
    version: connection.version,
    // Other processes notice a commit by the version.
    tell: () => {},
    subscribe: () => {},
    takeTokens: undefined,
    async close() {
      await connection.idle()
      connection.close()
    },
    ...audit(connection),
    ...bindQueries(connection),
    ...workShares(connection),
  }
}

/**
 * Shares one call of `read` among all who ask in one turn of the event loop. It runs at the end of the turn, after they have all
 * asked, so each of them sees everything that had changed before it asked.
 */
export function oncePerTurn<T>(read: () => T | Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined
  return () => {
    shared ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        shared = undefined
        try {
          resolve(read())
        } catch (error) {
          reject(error)
        }
      })
    })
    return shared
  }
}
