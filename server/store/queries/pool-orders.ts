import type { PoolTransaction } from '../../domain/new-transaction.ts'
import type { Store } from '../store.ts'
import type { Database } from './database.ts'
import { type Order, orderOf, type PoolState } from './insert-transaction.ts'
import { type Session, sql, type Transaction } from './session.ts'
import { firstsInLine, nothing, unfinishedOfAll } from './unfinished.ts'

const unfinished = ['pending', 'sent', 'submitted', 'mined']
// The relayer of the newest transaction with the key, while it or an earlier one of that relayer is unfinished.
const pinAt = (row: string) => `
  SELECT newest.relayer_row_id FROM (
    SELECT its.relayer_row_id, its.sequence FROM pool_orders JOIN transactions AS its ON its.row_id = transaction_row_id
    WHERE pool_orders.pool_row_id = ${row}pool_row_id AND ordering_key = ${row}ordering_key
    ORDER BY transaction_row_id DESC LIMIT 1) AS newest
  WHERE ${unfinished
    .map(
      (status) => `EXISTS (
      SELECT 1 FROM transactions AS earlier WHERE earlier.relayer_row_id = newest.relayer_row_id
        AND status = '${status}' AND sequence <= newest.sequence)`,
    )
    .join(' OR ')}`
const pins = sql<{ pool_row_id: number; ordering_key: string; relayer_row_id: number }>({
  sqlite: `SELECT $pool_row_id AS pool_row_id, $ordering_key AS ordering_key, its.* FROM (${pinAt('$')}) AS its`,
  postgres: `
    SELECT wanted.pool_row_id, wanted.ordering_key, its.*
    FROM json_to_recordset($rows::json) AS wanted (pool_row_id bigint, ordering_key text),
      LATERAL (${pinAt('wanted.')} OFFSET 0) AS its`,
})
const newest = sql<{ relayer_row_id: number; row_id: number }>(`
  SELECT relayers.row_id AS relayer_row_id, coalesce((
    SELECT its.row_id FROM transactions AS its WHERE its.relayer_row_id = relayers.row_id
    ORDER BY sequence DESC LIMIT 1), 0) AS row_id
  FROM relayers WHERE relayers.row_id = ANY ($row_ids::bigint[])`)
const relayer = sql<{ id: string }>('SELECT id FROM relayers WHERE row_id = $row_id')
const insert = sql({
  sqlite: `
    INSERT INTO pool_orders (transaction_row_id, pool_row_id, ordering_key)
    VALUES ($transaction_row_id, $pool_row_id, $ordering_key)`,
  postgres: `
    INSERT INTO pool_orders (transaction_row_id, pool_row_id, ordering_key)
    SELECT * FROM json_to_recordset($rows::json)
    AS row (transaction_row_id bigint, pool_row_id bigint, ordering_key text)`,
})

const readPins = async (session: Session, wanted: { pool_row_id: number; ordering_key: string }[]) =>
  new Map(
    (await session.allOf(pins, wanted)).map((its) => [orderOf(its.pool_row_id, its.ordering_key), its.relayer_row_id]),
  )

/** The caller holds the locks of the pools and of the candidates. */
export async function readPoolState(session: Session, wanted: PoolTransaction[]): Promise<PoolState> {
  if (wanted.length === 0) return { pinned: new Map(), newest: new Map() }
  const keys = wanted.flatMap(({ pool_row_id, ordering_key }) =>
    ordering_key === null ? [] : { pool_row_id, ordering_key },
  )
  const rowIds = wanted.flatMap(({ candidates }) => candidates.map(({ transaction }) => transaction.relayer_row_id))
  const [pinned, last] = await Promise.all([
    keys.length === 0 ? new Map<string, number>() : readPins(session, keys),
    session.all(newest, { row_ids: [...new Set(rowIds)] }),
  ])
  return { pinned, newest: new Map(last.map(({ relayer_row_id, row_id }) => [relayer_row_id, row_id])) }
}

/** Their transactions are written before. */
export const writeOrders = async (transaction: Transaction, orders: Order[]): Promise<void> => {
  if (orders.length > 0) await transaction.runOf(insert, orders)
}

export const poolOrders = ({ read }: Database): Pick<Store, 'loadsOf' | 'pinnedRelayer'> => ({
  async loadsOf(relayerRowIds) {
    const [counts, firsts] = await Promise.all([
      unfinishedOfAll(read, relayerRowIds),
      firstsInLine(read, relayerRowIds),
    ])
    const waiting = new Set(firsts.flatMap((row) => (row.waiting_for === null ? [] : row.relayer_row_id)))
    return relayerRowIds.map((relayerRowId) => ({
      relayer_row_id: relayerRowId,
      unfinished: (counts.get(relayerRowId) ?? nothing).count,
      is_waiting: waiting.has(relayerRowId),
    }))
  },
  async pinnedRelayer(poolRowId, orderingKey) {
    const rowId = (await readPins(read, [{ pool_row_id: poolRowId, ordering_key: orderingKey }])).get(
      orderOf(poolRowId, orderingKey),
    )
    return rowId === undefined ? undefined : (await read.one(relayer, { row_id: rowId }))?.id
  },
})
