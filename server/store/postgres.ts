import { StoreUnavailable } from '../domain/errors.ts'
import { auditList } from './postgres/audit.ts'
import { oneAtATime } from './postgres/coalesce.ts'
import { type ConnectionSettings, connect } from './postgres/connection.ts'
import { isUnavailable } from './postgres/failures.ts'
import { connectClient } from './postgres/pool.ts'
import { workShares } from './postgres/work-share.ts'
import { type DatabaseTransaction, StoreError, type StoreWorld, sql } from './queries/database.ts'
import { type SecretsStore, secrets, secretTables } from './queries/secrets.ts'
import { bindQueries } from './queries/store-queries.ts'
import type { Store } from './store.ts'

/** The store in a PostgreSQL database, which any number of servers share. */
export async function openPostgresStore(settings: ConnectionSettings, world: StoreWorld): Promise<Store> {
  const connection = await connect(settings, world).catch((error: unknown) => {
    throw isUnavailable(error) ? new StoreUnavailable() : error
  })
  const { appendAudit, auditHead, close, signals } = connection
  for (const setting of connection.warnings) world.weakDatabase?.(setting)
  return {
    generation: oneAtATime(connection.generation),
    version: () => signals.losses,
    tell: (signal) => signals.tell(signal),
    subscribe: (heard) => signals.subscribe(heard),
    takeTokens: connection.takeTokens,
    close,
    appendAudit,
    auditHead,
    ...auditList(connection),
    ...bindQueries(connection),
    ...workShares(connection),
  }
}

const otherServer = sql<{ name: string }>(
  `SELECT name FROM servers WHERE row_id <> $row_id AND state <> 'ended' AND until > clock_timestamp() LIMIT 1`,
)

/** Throws StoreError when the database cannot be used. */
export async function openPostgresSecrets(settings: ConnectionSettings): Promise<SecretsStore> {
  const { now, read, snapshot, writeCached, membership, close } = await connect(settings)

  /**
   * A service that starts later waits for the end of this database transaction, and reads the check of the master key after it. One that
   * was stalled counts as gone here. When it goes on, it finds a new generation, reads its rows again, and trusts none that it cannot
   * check; it writes no such row, because it cannot open the manifest.
   */
  async function beAlone(dbTransaction: DatabaseTransaction): Promise<void> {
    const other = await dbTransaction.one(otherServer, { row_id: membership.row_id })
    if (other) throw new StoreError(`The database is in use by ${other.name}; stop every service on it first`)
  }

  return {
    now,
    ...secrets({ read, snapshot, writeCached, beAlone }),
    async sweepOut() {
      const client = await connectClient(settings)
      try {
        await client.query(`VACUUM ${secretTables.join(', ')}`)
      } finally {
        await client.end()
      }
      return "PostgreSQL's WAL, which is overwritten in the course of time, and copies of it"
    },
    close,
  }
}

/** Whether a service has used the database: a command never fills an empty one, because the URL may be a mistake. */
export async function isKnownDatabase({ url }: Pick<ConnectionSettings, 'url'>): Promise<boolean> {
  const client = await connectClient({ url })
  try {
    const { rows } = await client.query<{ known: boolean }>(`SELECT to_regclass('vault_check') IS NOT NULL AS known`)
    return rows[0]?.known === true
  } finally {
    await client.end()
  }
}
