import type { AuditEntry, MasterKeyCheck, RightsFault, RightsGuard, RightsProof } from '../../domain/rows.ts'
import { type RightsState, RowMac, rightsTables } from '../row-mac.ts'
import { type Database, type DatabaseTransaction, type Session, StoreError, sql } from './database.ts'
import { lockManifest, scanRights, sealAll } from './sealed-rows.ts'

/** All secrets and MACs of a database, for operators' commands. */
export interface SecretsStore {
  /** The wall clock that all users of the database share, in milliseconds since the Unix epoch. */
  now(): number
  /** Undefined in a new database. */
  masterKeyCheck(): Promise<MasterKeyCheck | undefined>
  /** All faults of the rows that grant rights. */
  faults(guard: RightsGuard): Promise<RightsFault[]>
  /** Accepts the rows that grant rights with their present content. Resolves to their number. */
  acceptRights(guard: RightsGuard, entry: AuditEntry): Promise<number>
  /**
   * Seals all secrets again in one database transaction. Resolves to their number. An error of `change` rolls back. Rejects with
   * UntrustedRows, because a new MAC would make a foreign row trusted.
   */
  reseal(
    change: (sealed: Uint8Array, row: string) => Uint8Array,
    newCheck: MasterKeyCheck,
    rights: { from: RightsGuard | undefined; to: RightsGuard },
    entry: AuditEntry,
  ): Promise<number>
  /** Removes what earlier versions of rows left behind. Resolves to where old ciphertexts may still be; undefined: nowhere. */
  sweepOut(): Promise<string | undefined>
  close(): Promise<void>
}

/** Rows that grant rights were changed by another program. */
export class UntrustedRows extends Error {
  readonly faults: RightsFault[]

  constructor(faults: RightsFault[]) {
    super('Rows that grant rights were changed by another program')
    this.faults = faults
  }
}

/** The columns that hold encrypted secrets. A test compares the list with the schema. Each secret is bound to its row. */
export const sealedColumns = [
  ['signers', 'secret'],
  ['notifications', 'signing_key'],
  ['notifications', 'former_key'],
] as const

const secretColumns = sealedColumns.map(([table, column]) => ({
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

async function lockedVersion(dbTransaction: DatabaseTransaction, guard: RightsGuard): Promise<number> {
  return new RowMac(guard).openManifest((await dbTransaction.one(lockManifest))?.sealed)?.version ?? 0
}

/** The last assigned version. Throws UntrustedRows, because a new MAC would make a foreign row trusted. */
async function checkedVersion(dbTransaction: DatabaseTransaction, guard: RightsGuard): Promise<number> {
  const version = await lockedVersion(dbTransaction, guard)
  const { faults } = await scanRights(dbTransaction, new RowMac(guard))
  if (faults.length > 0) throw new UntrustedRows(faults)
  return version
}

interface SecretsDatabase extends Pick<Database, 'read' | 'writeCached'> {
  /** Statements that see the same state. */
  snapshot(work: (session: Session) => Promise<RightsState>): Promise<RightsState>
  /** Throws StoreError when another server uses the database. */
  beAlone(dbTransaction: DatabaseTransaction): Promise<void>
}

/** All secrets and MACs, for a rotation of the master key. */
export const secrets = ({
  read,
  writeCached,
  snapshot,
  beAlone,
}: SecretsDatabase): Pick<SecretsStore, 'masterKeyCheck' | 'faults' | 'acceptRights' | 'reseal'> => ({
  masterKeyCheck: () => readMasterKeyCheck(read),
  faults: async (guard) => (await snapshot((session) => scanRights(session, new RowMac(guard)))).faults,
  acceptRights: (guard, entry) =>
    writeCached(async (dbTransaction) => {
      await beAlone(dbTransaction)
      dbTransaction.record(entry)
      // The new versions must exceed all earlier ones, even if the manifest is lost.
      const highest = (await dbTransaction.one(highestVersion))?.version ?? 0
      return sealAll(dbTransaction, new RowMac(guard), Math.max(await lockedVersion(dbTransaction, guard), highest))
    }),
  reseal: (change, newCheck, { from, to }, entry) =>
    writeCached(async (dbTransaction) => {
      await beAlone(dbTransaction)
      const version = from ? await checkedVersion(dbTransaction, from) : 0
      let count = 0
      for (const { table, select, update } of secretColumns) {
        for (const { row_id, id, sealed } of await dbTransaction.all(select)) {
          await dbTransaction.run(update, { row_id, sealed: change(sealed, `${table}:${id}`) })
          count += 1
        }
      }
      await sealAll(dbTransaction, new RowMac(to), version)
      // Their MACs are under the old key.
      await dbTransaction.run(forgetLogins)
      await writeMasterKeyCheck(dbTransaction, newCheck)
      dbTransaction.record(entry)
      return count
    }),
})

/** All columns of secrets are in these tables. */
export const secretTables = [...new Set(secretColumns.map(({ table }) => table))]

/** The row of `vault_check`. */
interface MasterKeyRow {
  sealed: Uint8Array
  wrapped_by: string | null
  wrapped_key: Uint8Array | null
}

const masterKeyCheckOf = ({ sealed, wrapped_by, wrapped_key }: MasterKeyRow): MasterKeyCheck => ({
  sealed,
  wrapped: wrapped_by === null || wrapped_key === null ? null : { by: wrapped_by, bytes: wrapped_key },
})

const selectSecret = sql<MasterKeyRow>('SELECT sealed, wrapped_by, wrapped_key FROM vault_check')
const upsert = sql(`
  INSERT INTO vault_check (id, sealed, wrapped_by, wrapped_key) VALUES (1, $sealed, $by, $bytes)
  ON CONFLICT (id) DO UPDATE
  SET sealed = excluded.sealed, wrapped_by = excluded.wrapped_by, wrapped_key = excluded.wrapped_key`)

/** The sealed proof of the master key, and the encrypted master key if a key service decrypts it; undefined: the database is new. */
export const masterKeyCheck = ({ read }: Database): Promise<MasterKeyCheck | undefined> => readMasterKeyCheck(read)

async function readMasterKeyCheck(session: Session): Promise<MasterKeyCheck | undefined> {
  const row = await session.one(selectSecret)
  return row && masterKeyCheckOf(row)
}

async function writeMasterKeyCheck(session: Session, { sealed, wrapped }: MasterKeyCheck): Promise<void> {
  await session.run(upsert, { sealed, by: wrapped?.by ?? null, bytes: wrapped?.bytes ?? null })
}

const anyRow = sql(
  rightsTables.map((table) => `SELECT * FROM (SELECT 1 FROM ${table} LIMIT 1) AS any_of_${table}`).join(' UNION ALL '),
)

/**
 * Starts the protection of rows that grant rights: they are checked when used and get a MAC when changed. `prove` receives what
 * `masterKeyCheck` returns, read in the same database transaction. Each fault is reported once. `first_sealed`: how many rows got
 * their first MAC, in a database without any. Rejects with the errors of `prove`. The first proof is one database transaction, so that of
 * two processes that start at once only one makes it.
 */
export async function protect(
  { writeAlone, rights }: Database,
  prove: (held: MasterKeyCheck | undefined) => RightsProof,
  report: (fault: RightsFault) => void,
): Promise<{ first_sealed: number }> {
  const { proof, first_sealed } = await writeAlone(async (dbTransaction) => {
    const held = await readMasterKeyCheck(dbTransaction)
    // Without its proof, a database in use would be taken for a new one, and its rows would be trusted.
    if (held === undefined && (await dbTransaction.one(anyRow))) {
      throw new StoreError('The database has rows, but the proof of its master key (vault_check) is missing')
    }
    const proof = prove(held)
    if (proof.is_protected) return { proof, first_sealed: 0 }
    const firstSealed = await sealAll(dbTransaction, new RowMac(proof.guard), 0)
    await writeMasterKeyCheck(dbTransaction, proof)
    return { proof, first_sealed: firstSealed }
  })
  await rights.protect(proof.guard, report)
  return { first_sealed }
}
