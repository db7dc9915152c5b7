import type Database from 'better-sqlite3'
import type { RightsGuard } from '../../domain/rows.ts'
import { checkTrail } from '../postgres/audit-check.ts'
import { scanRights } from '../queries/row-mac.ts'
import { sealedColumns } from '../queries/secrets.ts'
import { type Session, sql } from '../queries/session.ts'
import { rowMac } from '../row-mac.ts'
import { StoreError } from '../store-errors.ts'
import type { MovedTable } from './tables.ts'

interface Counter {
  chain_id: number
  address: string
  next_nonce: number
  used_below: number
}

const counters = 'SELECT chain_id, address, next_nonce, used_below FROM accounts'
const selectCounters = sql<Counter>(counters)

/** Checks the copy before its commit. Throws StoreError. */
export async function checkCopy(
  source: Database.Database,
  target: Session,
  tables: MovedTable[],
  guard: RightsGuard,
): Promise<{ audit_entries: number; secrets: number }> {
  await checkCounts(source, target, tables)
  await checkNonces(source, target)
  const auditEntries = await checkAuditChain(target)
  const { faults } = await scanRights(target, rowMac(guard))
  if (faults.length > 0) throw failed(`${faults.length} rows that grant rights do not have the right MAC`)
  return { audit_entries: auditEntries, secrets: await openSecrets(target, guard) }
}

async function checkCounts(source: Database.Database, target: Session, tables: MovedTable[]): Promise<void> {
  for (const { name } of tables) {
    const from = source.prepare<[], number>(`SELECT count(*) FROM "${name}"`).pluck().get()
    const to = (await target.one(sql<{ count: number }>(`SELECT count(*) AS count FROM "${name}"`)))?.count
    if (from !== to) throw failed(`the table ${name} has ${to} of ${from} rows`)
  }
}

async function checkNonces(source: Database.Database, target: Session): Promise<void> {
  const text = ({ chain_id, address, next_nonce, used_below }: Counter) =>
    `${chain_id} ${address} ${next_nonce} ${used_below}`
  const moved = new Set((await target.all(selectCounters)).map(text))
  const missing = source
    .prepare<[], Counter>(counters)
    .all()
    .find((counter) => !moved.has(text(counter)))
  if (missing) throw failed(`the nonce counter of ${missing.address} on chain ${missing.chain_id} differs`)
}

/** Returns the number of the last entry. */
async function checkAuditChain(target: Session): Promise<number> {
  const { heads, fault } = await checkTrail(target)
  if (fault !== undefined) throw failed(`audit trail: ${fault}`)
  return heads.at(-1)?.up_to ?? 0
}

/** Opens every secret. Returns their number. */
async function openSecrets(target: Session, guard: RightsGuard): Promise<number> {
  let count = 0
  for (const [table, column] of sealedColumns) {
    const rows = await target.all(
      sql<{ id: string; sealed: Uint8Array }>(
        `SELECT id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL`,
      ),
    )
    for (const { id, sealed } of rows) {
      try {
        guard.open(sealed, `${table}:${id}`)
      } catch {
        throw failed(`the secret of ${table}:${id} cannot be decrypted`)
      }
    }
    count += rows.length
  }
  return count
}

const failed = (fault: string) => new StoreError(`The check of the copy failed: ${fault}`)
