import { addsCircle } from '../../domain/funding.ts'
import type { PendingAuditEntry } from '../../domain/rows.ts'
import type { Database } from './database.ts'
import { type Engine, type Session, sql, type Transaction } from './session.ts'

const from = (table: string): Record<Engine, string> => ({
  sqlite: `${table}.funding ->> 'from'`,
  postgres: `${table}.funding::json ->> 'from'`,
})
const [ofRelayers, ofPools] = [from('relayers'), from('pools')]
/** Of several funded pools the one that was created first. */
const firstPool = (selected: string, relayerRowId: string) => `
  SELECT ${selected} FROM pool_relayers JOIN pools ON pools.row_id = pool_row_id
  WHERE relayer_row_id = ${relayerRowId} AND pools.funding IS NOT NULL ORDER BY pools.row_id LIMIT 1`

export const poolThatFunds = sql<{ id: string }>(firstPool('pools.id', '$relayer_row_id'))
export const funded = sql<{ row_id: number }>(`
  SELECT row_id FROM relayers WHERE funding IS NOT NULL
  UNION SELECT relayer_row_id FROM pool_relayers JOIN pools ON pools.row_id = pool_row_id WHERE pools.funding IS NOT NULL
  ORDER BY row_id`)
export const isTreasury = sql(
  (engine) => `
  SELECT 1 FROM relayers WHERE funding IS NOT NULL AND ${ofRelayers[engine]} = $id
  UNION SELECT 1 FROM pools WHERE funding IS NOT NULL AND ${ofPools[engine]} = $id LIMIT 1`,
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
  work: (transaction: Transaction) => Promise<T>,
  auditEntry: PendingAuditEntry | undefined,
): Promise<T | 'circle'> {
  try {
    return await writeCached(async (transaction) => {
      const before = await treasuriesIn(transaction)
      const done = await work(transaction)
      if (addsCircle(before, await treasuriesIn(transaction))) throw new FundingCircle()
      return done
    }, auditEntry)
  } catch (error) {
    if (error instanceof FundingCircle) return 'circle'
    throw error
  }
}

/** It undoes what was changed before. */
class FundingCircle extends Error {}
