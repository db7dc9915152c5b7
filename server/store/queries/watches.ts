import { finalStatuses } from '../../domain/statuses.ts'
import type { Store } from '../store.ts'
import type { Database } from './database.ts'
import { sql } from './session.ts'
import { columns, type Row, read as readRow } from './transaction-rows.ts'

/** How many of a relayer's newest transactions of each status are checked after a reorganization. */
const maxLookedThrough = 2_000

const insert = sql(`
  INSERT INTO watches (relayer_row_id) SELECT row_id FROM relayers WHERE row_id = $relayer_row_id
  ON CONFLICT DO NOTHING`)
const exists = sql<{ found: number }>('SELECT 1 AS found FROM watches WHERE relayer_row_id = $relayer_row_id')
const remove = sql('DELETE FROM watches WHERE relayer_row_id = $relayer_row_id')
// One part for each status, so that the index of status and sequence gives the newest without a sort.
const ofEach = (select: (status: string) => string) =>
  finalStatuses.map((status) => `SELECT * FROM (${select(status)}) AS of_${status}`).join(' UNION ALL ')
const newest = sql<{ number: number; hash: string }>(`
  SELECT block_number AS number, block_hash AS hash FROM (${ofEach(
    (status) => `
    SELECT block_number, block_hash FROM transactions
    WHERE relayer_row_id = $relayer_row_id AND status = '${status}' ORDER BY sequence DESC LIMIT 1`,
  )}) AS newest
  WHERE block_number IS NOT NULL AND block_hash IS NOT NULL ORDER BY block_number DESC LIMIT 1`)
const since = sql<Row>(`
  SELECT * FROM (${ofEach(
    (status) => `
    SELECT ${columns} FROM transactions
    WHERE relayer_row_id = $relayer_row_id AND status = '${status}'
    ORDER BY sequence DESC LIMIT ${maxLookedThrough}`,
  )}) AS newest
  WHERE block_number >= $block_number`)
const failedUnmined = sql<Row>(`
  SELECT ${columns} FROM (
    SELECT * FROM transactions WHERE relayer_row_id = $relayer_row_id AND status = 'failed'
    ORDER BY sequence DESC LIMIT $limit
  ) AS failed WHERE block_hash IS NULL AND hash IS NOT NULL AND nonce IS NOT NULL`)
const newestRow = sql<{ newest: number }>('SELECT coalesce(max(row_id), 0) AS newest FROM transactions')

type Watches = Pick<Store, 'watch' | 'unwatch' | 'newestEnded' | 'endedSince' | 'failedUnmined' | 'newestRowId'>

/** Transactions that ended in a block which a deep reorganization may still replace. */
export function watches({ read, write }: Database): Watches {
  return {
    async watch(relayerRowId) {
      if (await read.one(exists, { relayer_row_id: relayerRowId })) return
      await write((transaction) => transaction.run(insert, { relayer_row_id: relayerRowId }))
    },
    unwatch: (relayerRowId) =>
      write(async (transaction) => void (await transaction.run(remove, { relayer_row_id: relayerRowId }))),
    newestEnded: (relayerRowId) => read.one(newest, { relayer_row_id: relayerRowId }),
    endedSince: async (relayerRowId, blockNumber) =>
      (await read.all(since, { relayer_row_id: relayerRowId, block_number: blockNumber })).map(readRow),
    failedUnmined: async (relayerRowId, limit) =>
      (await read.all(failedUnmined, { relayer_row_id: relayerRowId, limit })).map(readRow),
    newestRowId: async () => (await read.one(newestRow))?.newest ?? 0,
  }
}
