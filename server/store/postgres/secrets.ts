import type { RightsGuard } from '../../core/rows.ts'
import { rightsSeal } from '../rights-seal.ts'
import { rightsTables } from '../rights-tables.ts'
import { sealedColumns } from '../sealed-columns.ts'
import { type SecretsStore, UntrustedRows } from '../secrets-store.ts'
import { StoreError } from '../store-error.ts'
import { type ConnectionSettings, connect, type Transaction } from './connection.ts'
import { readMasterKeyCheck, writeMasterKeyCheck } from './master-key-check.ts'
import { connectClient } from './pool.ts'
import { scanRights, sealAll } from './rights-scan.ts'
import { lockManifest } from './rights-tables.ts'
import { sql } from './statement.ts'

const columns = sealedColumns.map(([table, column]) => ({
  table,
  select: sql<{ row_id: number; id: string; sealed: Uint8Array }>(
    `SELECT row_id, id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL ORDER BY row_id`,
  ),
  update: sql(`UPDATE ${table} SET ${column} = $sealed WHERE row_id = $row_id`),
}))
const highestVersion = sql<{ version: number }>(`
  SELECT max(version) AS version FROM (
    ${rightsTables.map((table) => `SELECT coalesce(max(rights_version), 0) AS version FROM ${table}`).join(' UNION ALL ')}
  ) AS versions`)
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
  async function beAlone(transaction: Transaction): Promise<void> {
    const other = await transaction.one(otherServer, { row_id: membership.row_id })
    if (other) throw new StoreError(`The database is in use by ${other.name}; stop every service on it first`)
  }

  async function lockedVersion(transaction: Transaction, guard: RightsGuard): Promise<number> {
    return rightsSeal(guard).openManifest((await transaction.one(lockManifest))?.sealed)?.version ?? 0
  }

  /** The last assigned version. */
  async function checkedVersion(transaction: Transaction, guard: RightsGuard): Promise<number> {
    const version = await lockedVersion(transaction, guard)
    const { faults } = await scanRights(transaction, rightsSeal(guard), undefined)
    if (faults.length > 0) throw new UntrustedRows(faults)
    return version
  }

  return {
    now,
    masterKeyCheck: () => readMasterKeyCheck(read),
    faults: async (guard) => (await snapshot((session) => scanRights(session, rightsSeal(guard), undefined))).faults,
    acceptRights: (guard, entry) =>
      writeCached(async (transaction) => {
        await beAlone(transaction)
        transaction.record(entry)
        // The new versions must exceed all earlier ones, even if the manifest is lost.
        const highest = (await transaction.one(highestVersion))?.version ?? 0
        return sealAll(transaction, rightsSeal(guard), Math.max(await lockedVersion(transaction, guard), highest))
      }),
    reseal: (change, new_check, { from, to }, entry) =>
      writeCached(async (transaction) => {
        await beAlone(transaction)
        const version = from ? await checkedVersion(transaction, from) : 0
        let count = 0
        for (const { table, select, update } of columns) {
          for (const { row_id, id, sealed } of await transaction.all(select)) {
            await transaction.run(update, { row_id, sealed: change(sealed, `${table}:${id}`) })
            count += 1
          }
        }
        await sealAll(transaction, rightsSeal(to), version)
        await writeMasterKeyCheck(transaction, new_check)
        transaction.record(entry)
        return count
      }),
    async sweepOut() {
      const client = await connectClient(settings)
      try {
        await client.query(`VACUUM ${[...new Set(columns.map(({ table }) => table))].join(', ')}`)
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
