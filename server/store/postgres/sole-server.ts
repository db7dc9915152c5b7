import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { StoreError } from '../store-error.ts'
import { connectClient, type PoolSettings } from './pool.ts'

/** The advisory lock that the server holds while it runs: any number that nothing else uses. */
const server_lock = 7_243_002
const again_ms = 500

export interface SoleServer {
  /** Grows with each start. */
  epoch: number
  /** Begins a database transaction; fails for a server whose epoch has passed. The new one waits for those that have begun. */
  begin: { text: string; check(results: unknown): void }
  close(): Promise<void>
}

/** Another server has taken the database over: this one must not write any more. */
export class ServerReplaced extends Error {}

/**
 * Makes this server the only one on the database. Throws StoreError while another server holds the lock. The lock ends with its
 * connection: with the process, or about 10 seconds after the machine of the other server is gone. It refuses a second server at its
 * start; the epoch is the fence. `replaced`: called when another server took the database over after the lock was lost.
 */
export async function becomeSoleServer(
  settings: Pick<PoolSettings, 'url'>,
  replaced: (error: ServerReplaced) => void,
): Promise<SoleServer> {
  let isClosing = false
  let client = await locked()
  if (client === undefined) {
    throw new StoreError(
      'Another server uses this PostgreSQL database. One server at a time may use it: stop the other one, or set another DATABASE_URL',
    )
  }
  const { rows } = await client.query<{ epoch: number }>('UPDATE server_epoch SET epoch = epoch + 1 RETURNING epoch')
  const { epoch } = rows[0] as { epoch: number }
  client.once('end', () => void holdAgain())

  /** A connection that holds the lock; undefined: another one holds it. */
  async function locked(): Promise<pg.Client | undefined> {
    const candidate = await connectClient(settings)
    const { rows } = await candidate.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [server_lock])
    if (rows[0]?.held) return candidate
    await candidate.end()
    return undefined
  }

  async function holdAgain(): Promise<void> {
    while (!isClosing) {
      try {
        const again = await locked()
        if (again) {
          const { rows } = await again.query<{ epoch: number }>('SELECT epoch FROM server_epoch')
          if (rows[0]?.epoch !== epoch) return replaced(new ServerReplaced(message))
          client = again
          again.once('end', () => void holdAgain())
          return
        }
      } catch {
        // The database is away. It is asked again.
      }
      await pause(again_ms)
    }
  }

  return {
    epoch,
    begin: {
      text: `BEGIN; SELECT 1 FROM server_epoch WHERE epoch = ${epoch} FOR SHARE`,
      check(results) {
        const [, held] = results as [unknown, { rows: unknown[] }]
        if (held.rows.length === 1) return
        const error = new ServerReplaced(message)
        replaced(error)
        throw error
      },
    },
    async close() {
      isClosing = true
      await client?.end()
    },
  }
}

const message = 'Another server has taken this PostgreSQL database over'
