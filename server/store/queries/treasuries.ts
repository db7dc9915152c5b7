import type { TransactionStatus } from '../../../generated/openapi.ts'
import { addsCircle } from '../../domain/funding.ts'
import { maxUsers, type PendingAuditEntry } from '../../domain/rows.ts'
import { isFinal, unfinishedStatuses } from '../../domain/statuses.ts'
import { type Database, type DatabaseTransaction, type Engine, insertInto, type Session, sql } from './database.ts'
import type { InsertedTransaction, NewestRefill } from './insert-rules.ts'
import { statusIn } from './transaction-rows.ts'

const treasuryOf = (table: string): Record<Engine, string> => ({
  sqlite: `${table}.funding ->> 'treasury_id'`,
  postgres: `${table}.funding::json ->> 'treasury_id'`,
})
const [ofRelayers, ofPools] = [treasuryOf('relayers'), treasuryOf('pools')]
/** Of several funded pools the one that was created first. */
const firstPool = (selected: string, relayerRowId: string) => `
  SELECT ${selected} FROM pool_relayers JOIN pools ON pools.row_id = pool_row_id
  WHERE relayer_row_id = ${relayerRowId} AND pools.funding IS NOT NULL ORDER BY pools.row_id LIMIT 1`

export const poolThatFunds = sql<{ id: string }>(firstPool('pools.id', '$relayer_row_id'))
export const funded = sql<{ row_id: number }>(`
  SELECT row_id FROM relayers WHERE funding IS NOT NULL
  UNION SELECT relayer_row_id FROM pool_relayers JOIN pools ON pools.row_id = pool_row_id WHERE pools.funding IS NOT NULL
  ORDER BY row_id`)
export const fundedBy = sql<{ id: string }>(
  (engine) => `
  SELECT id FROM relayers WHERE funding IS NOT NULL AND ${ofRelayers[engine]} = $id
  UNION SELECT id FROM pools WHERE funding IS NOT NULL AND ${ofPools[engine]} = $id ORDER BY id LIMIT ${maxUsers}`,
)
const ofPool = (engine: Engine) => firstPool(ofPools[engine], 'relayers.row_id')
const treasuries = sql<{ id: string; treasury: string }>(
  (engine) => `
  SELECT * FROM (
    SELECT id, coalesce(${ofRelayers[engine]}, (${ofPool(engine)})) AS treasury FROM relayers) AS its
  WHERE treasury IS NOT NULL`,
)

const treasuriesIn = async (session: Session) =>
  new Map((await session.all(treasuries)).map(({ id, treasury }) => [id, treasury]))

/**
 * Makes a change that can alter from which relayer another one gets its funds: of a funding, of a pool's relayers, or of what hides another
 * funding. Undoes it when a relayer would get its funds from itself, over any number of others. Changes of configuration run one at a time,
 * so that two of them make no circle.
 */
export async function changeFunding<T>(
  { writeCached }: Pick<Database, 'writeCached'>,
  work: (dbTransaction: DatabaseTransaction) => Promise<T>,
  auditEntry: PendingAuditEntry | undefined,
): Promise<T | 'circle'> {
  try {
    return await writeCached(async (dbTransaction) => {
      const before = await treasuriesIn(dbTransaction)
      const done = await work(dbTransaction)
      if (addsCircle(before, await treasuriesIn(dbTransaction))) throw new FundingCircle()
      return done
    }, auditEntry)
  } catch (error) {
    if (error instanceof FundingCircle) return 'circle'
    throw error
  }
}

/** It undoes what was changed before. */
class FundingCircle extends Error {}

/** A refill, which was accepted in one commit with its transaction. */
export interface Refill {
  row_id: number
  treasury_row_id: number
  treasury_id: string
  amount: string
  transaction_id: string
  created_at: string
  /** Its transaction is unfinished. */
  is_open: boolean
  /** Of its transaction, as the two below; null: that was removed, long after its end. */
  status: TransactionStatus | null
  from: string | null
  /** Null: it is in no block, or in one of a chain that was restarted since. */
  mined_nonce: number | null
}

const maxShown = 20
const maxKept = 200

/** Null where its transaction was removed, long after its end. */
type StoredRefill = Omit<Refill, 'is_open'>

// The row of its transaction says how far a refill is: it may be reopened by a reorganization.
const newest = sql<StoredRefill>(`
  SELECT refills.row_id, treasury_row_id, treasury_id, amount, transaction_id, refills.created_at, status, "from",
    CASE WHEN block_hash IS NOT NULL THEN nonce END AS mined_nonce
  FROM refills LEFT JOIN transactions ON transactions.id = transaction_id
  WHERE refills.relayer_row_id = $relayer_row_id ORDER BY refills.row_id DESC LIMIT ${maxShown}`)
const newestOf = sql<NewestRefill & { relayer_row_id: number }>(`
  SELECT refills.relayer_row_id, max(refills.row_id) AS row_id,
    max(CASE WHEN ${statusIn(unfinishedStatuses)} THEN 1 ELSE 0 END) AS is_open
  FROM refills LEFT JOIN transactions ON transactions.id = transaction_id
  WHERE refills.relayer_row_id = ANY ($row_ids::bigint[]) GROUP BY refills.relayer_row_id`)
const insertRefillRows = insertInto('refills', {
  ...({ relayer_row_id: 'bigint', treasury_row_id: 'bigint', treasury_id: 'text' } as const),
  ...({ asset: 'text', amount: 'text', transaction_id: 'text', created_at: 'text' } as const),
})
const prune = sql(`
  DELETE FROM refills WHERE relayer_row_id = $relayer_row_id AND row_id < (
    SELECT min(row_id) FROM (
      SELECT row_id FROM refills WHERE relayer_row_id = $relayer_row_id ORDER BY row_id DESC LIMIT ${maxKept}) AS newest)`)

export async function readRefills(session: Session, relayerRowId: number): Promise<Refill[]> {
  const rows = await session.all(newest, { relayer_row_id: relayerRowId })
  return rows.map((row) => ({ ...row, is_open: row.status !== null && !isFinal(row.status) }))
}

/** The newest refills of relayers, by their row ids; absent: none. */
export async function newestRefills(session: Session, rowIds: number[]): Promise<Map<number, NewestRefill>> {
  const rows = rowIds.length === 0 ? [] : await session.all(newestOf, { row_ids: rowIds })
  return new Map(rows.map(({ relayer_row_id, ...its }) => [relayer_row_id, its]))
}

/** Records the refills among accepted transactions. */
export async function insertRefills(
  dbTransaction: DatabaseTransaction,
  accepted: InsertedTransaction[],
): Promise<void> {
  const rows = accepted.flatMap(({ refill, row }) => {
    if (!refill) return []
    const { after: _, ...its } = refill
    const { id, relayer_row_id, relayer_id, created_at } = row
    return { ...its, treasury_row_id: relayer_row_id, treasury_id: relayer_id, transaction_id: id, created_at }
  })
  if (rows.length === 0) return
  await dbTransaction.runOf(insertRefillRows, rows)
  for (const { relayer_row_id } of rows) await dbTransaction.run(prune, { relayer_row_id })
}
