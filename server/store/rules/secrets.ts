import type { RightsGuard } from '../../core/rows.ts'
import { rightsSeal } from '../rights-seal.ts'
import type { RightsState } from '../rights-state.ts'
import { rightsTables } from '../rights-tables.ts'
import { type SecretsStore, UntrustedRows } from '../secrets-store.ts'
import type { Database } from './database.ts'
import { readMasterKeyCheck, writeMasterKeyCheck } from './master-key.ts'
import { lockManifest } from './rights-rows.ts'
import { scanRights, sealAll } from './rights-scan.ts'
import type { Session, Transaction } from './session.ts'
import { sql } from './statement.ts'

/** The columns that hold encrypted secrets. A test compares the list with the schema. Each secret is bound to its row. */
export const sealedColumns = [
  ['signers', 'secret'],
  ['notifications', 'signing_key'],
  ['notifications', 'former_key'],
] as const

const columns = sealedColumns.map(([table, column]) => ({
  table,
  select: sql<{ row_id: number; id: string; sealed: Uint8Array }>(
    `SELECT row_id, id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL ORDER BY row_id`,
  ),
  update: sql(`UPDATE ${table} SET ${column} = $sealed WHERE row_id = $row_id`),
}))
const forgetLogins = sql('DELETE FROM token_logins')
const highestVersion = sql<{ version: number }>(`
  SELECT max(version) AS version FROM (
    ${rightsTables.map((table) => `SELECT coalesce(max(rights_version), 0) AS version FROM ${table}`).join(' UNION ALL ')}
  ) AS versions`)

async function lockedVersion(transaction: Transaction, guard: RightsGuard): Promise<number> {
  return rightsSeal(guard).openManifest((await transaction.one(lockManifest))?.sealed)?.version ?? 0
}

/** The last assigned version. Throws UntrustedRows, because a new MAC would make a foreign row trusted. */
async function checkedVersion(transaction: Transaction, guard: RightsGuard): Promise<number> {
  const version = await lockedVersion(transaction, guard)
  const { faults } = await scanRights(transaction, rightsSeal(guard))
  if (faults.length > 0) throw new UntrustedRows(faults)
  return version
}

export interface SecretsDatabase extends Pick<Database, 'read' | 'writeCached'> {
  /** Statements that see the same state. */
  snapshot(work: (session: Session) => Promise<RightsState>): Promise<RightsState>
  /** Throws StoreError when another server uses the database. */
  beAlone(transaction: Transaction): Promise<void>
}

/** All secrets and MACs, for a rotation of the master key. */
export const secrets = ({
  read,
  writeCached,
  snapshot,
  beAlone,
}: SecretsDatabase): Pick<SecretsStore, 'masterKeyCheck' | 'faults' | 'acceptRights' | 'reseal'> => ({
  masterKeyCheck: () => readMasterKeyCheck(read),
  faults: async (guard) => (await snapshot((session) => scanRights(session, rightsSeal(guard)))).faults,
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
      // Their MACs are under the old key.
      await transaction.run(forgetLogins)
      await writeMasterKeyCheck(transaction, new_check)
      transaction.record(entry)
      return count
    }),
})

/** All columns of secrets are in these tables. */
export const secretTables = [...new Set(columns.map(({ table }) => table))]
