import type Database from 'better-sqlite3'
import type { RightsGuard } from '../../core/rows.ts'
import { type AuditBatch, type AuditHead, beginning, faultOfBatch } from '../audit-batches.ts'
import { rightsSeal } from '../rights-seal.ts'
import { scanRights } from '../rules/rights-scan.ts'
import { sealedColumns } from '../rules/secrets.ts'
import type { Session } from '../rules/session.ts'
import { sql } from '../rules/statement.ts'
import { StoreError } from '../store-errors.ts'
import { moved_chain as chain } from './copy.ts'
import type { MovedTable } from './tables.ts'

interface Counter {
  chain_id: number
  address: string
  next_nonce: number
  used_below: number
}

const counters = 'SELECT chain_id, address, next_nonce, used_below FROM accounts'
const selectCounters = sql<Counter>(counters)
const selectBatches = sql<AuditBatch>(`
  SELECT up_to, first, entries, hash FROM audit WHERE chain = $chain AND up_to > $after ORDER BY up_to LIMIT 100`)
const selectHead = sql<AuditHead>('SELECT up_to, hash FROM audit_chains WHERE chain = $chain')

/** Checks the copy before its commit. Throws StoreError. */
export async function checkCopy(
  source: Database.Database,
  target: Session,
  tables: MovedTable[],
  guard: RightsGuard,
): Promise<{ audit_entries: number; secrets: number }> {
  await checkCounts(source, target, tables)
  await checkNonces(source, target)
  const audit_entries = await checkAuditChain(target)
  const { faults } = await scanRights(target, rightsSeal(guard))
  if (faults.length > 0) throw failed(`${faults.length} rows that grant rights do not have the right MAC`)
  return { audit_entries, secrets: await openSecrets(target, guard) }
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

async function checkAuditChain(target: Session): Promise<number> {
  let head = beginning
  for (;;) {
    const batches = await target.all(selectBatches, { chain, after: head.up_to })
    for (const batch of batches) {
      const fault = faultOfBatch(batch, head)
      if (fault !== undefined) throw failed(`audit trail: ${fault}`)
      head = { up_to: batch.up_to, hash: batch.hash }
    }
    if (batches.length === 0) break
  }
  const recorded = await target.one(selectHead, { chain })
  if (recorded?.up_to !== head.up_to || !Buffer.from(head.hash).equals(recorded.hash)) {
    throw failed('the head of the audit trail differs')
  }
  return head.up_to
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
