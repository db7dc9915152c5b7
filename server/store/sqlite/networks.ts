import { columns, encode, type Row, read } from '../network-rows.ts'
import type { SealedRow } from '../rights-tables.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { lister } from './lists.ts'
import { sealedColumns } from './rights-tables.ts'

type Networks = Pick<Store, 'createNetwork' | 'getNetwork' | 'listNetworks' | 'updateNetwork' | 'deleteNetwork'>

export function networks({ db, writeCached, rights }: Connection): Networks {
  const select = db.prepare<[string], Row & SealedRow>(
    `SELECT ${columns}, ${sealedColumns('networks')} FROM networks WHERE id = ?`,
  )
  const insert = db.prepare<[Row]>(`
    INSERT INTO networks (${columns})
    VALUES ($id, $name, $network_type, $chain_id, $rpc_urls, $symbol, $required_confirmations, $average_blocktime_ms,
      $is_testnet, $explorer_urls, $features, $tags)
    ON CONFLICT DO NOTHING`)
  const update = db.prepare<[Row]>(`
    UPDATE networks SET rpc_urls = $rpc_urls, symbol = $symbol, required_confirmations = $required_confirmations,
      average_blocktime_ms = $average_blocktime_ms, is_testnet = $is_testnet, explorer_urls = $explorer_urls,
      features = $features, tags = $tags
    WHERE id = $id`)
  const used = db.prepare<[string]>('SELECT 1 FROM relayers WHERE network = (SELECT name FROM networks WHERE id = ?)')
  const remove = db.prepare<[string]>('DELETE FROM networks WHERE id = ?')

  /** Throws ApiError (503) for a row that another program has changed. */
  const trusted = (row: Row & SealedRow, id: string) => {
    const { row_id: _, ...network } = rights.require('networks', row, id)
    return read(network)
  }

  return {
    createNetwork: async (network) => writeCached(() => insert.run(encode(network)).changes === 1),
    async getNetwork(id) {
      const row = select.get(id)
      return row && trusted(row, id)
    },
    listNetworks: lister(db, 'networks', columns, read),
    updateNetwork: async (id, change) =>
      writeCached(() => {
        const row = select.get(id)
        if (!row) return undefined
        const changed = change(trusted(row, id))
        update.run(encode(changed))
        return changed
      }),
    deleteNetwork: async (id) =>
      writeCached(() => {
        if (used.get(id)) return 'in_use'
        return remove.run(id).changes === 1 ? 'deleted' : 'missing'
      }),
  }
}
