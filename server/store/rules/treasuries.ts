import type { Session } from './session.ts'
import { type Engine, sql } from './statement.ts'

const from = (table: string): Record<Engine, string> => ({
  sqlite: `${table}.funding ->> 'from'`,
  postgres: `${table}.funding::json ->> 'from'`,
})
const [ofRelayers, ofPools] = [from('relayers'), from('pools')]
/** Of several funded pools the one that was created first. */
const firstPool = (selected: string, relayer_row_id: string) => `
  SELECT ${selected} FROM pool_relayers JOIN pools ON pools.row_id = pool_row_id
  WHERE relayer_row_id = ${relayer_row_id} AND pools.funding IS NOT NULL ORDER BY pools.row_id LIMIT 1`

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
const treasuryOf = sql<{ id: string; chain_id: number; treasury: string | null }>(
  (engine) => `
  SELECT id, chain_id, coalesce(${ofRelayers[engine]}, (${ofPool(engine)})) AS treasury FROM relayers WHERE id = $id`,
)
const poolTreasury = sql<{ treasury: string | null }>(
  (engine) => `SELECT (${ofPool(engine)}) AS treasury FROM relayers WHERE id = $id`,
)

/** Why a relayer cannot get its funds from another one. Changes of configuration run one at a time, so that two of them make no circle. */
export async function obstacleOf(session: Session, relayer: { id: string; chain_id: number }, treasury: string) {
  for (let next: string | null = treasury, first = true; next !== null; first = false) {
    const its: { id: string; chain_id: number; treasury: string | null } | undefined = await session.one(treasuryOf, {
      id: next,
    })
    if (first && its?.chain_id !== relayer.chain_id) return 'unknown_treasury'
    if (!its) return undefined
    if (its.id === relayer.id) return 'circle'
    next = its.treasury
  }
  return undefined
}

/** From which relayer a relayer gets its funds when it has no funding of its own. */
export const treasuryByPool = async (session: Session, id: string): Promise<string | null> =>
  (await session.one(poolTreasury, { id }))?.treasury ?? null
