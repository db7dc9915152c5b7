import type { NewTransaction } from '../../../server/domain/new-transaction.ts'
import type { OpenedStore } from './stores.ts'

/** A relayer in the database, by its columns. */
export interface PlantedRelayer {
  row_id: number
  id: string
  chain_id: number
  address: string
}

/** Inserts a relayer and the rows that it refers to. `number`: unique for each relayer of a database. */
export async function plantRelayer(
  { rows, no_bytes }: Pick<OpenedStore, 'rows' | 'no_bytes'>,
  number: number,
): Promise<PlantedRelayer> {
  const [id, address, chainId] = [`r${number}`, `0x${String(number).padStart(40, '0')}`, 1]
  if (number === 1) {
    await rows(`INSERT INTO networks (id, name, network_type, chain_id, rpc_urls, required_confirmations, is_testnet,
        explorer_urls, features, tags)
      VALUES ('evm:n', 'n', 'evm', 1, '[]', 1, 1, '[]', '[]', '[]')`)
    await rows(`INSERT INTO notifications (id, type, url) VALUES ('hook', 'webhook', 'https://example.com/')`)
  }
  await rows(`INSERT INTO signers (id, type, address, secret) VALUES ('${id}', 'local', '${address}', ${no_bytes})`)
  await rows(`INSERT INTO relayers (id, name, network, network_type, chain_id, paused, address, signer_id,
      notification_id, policies, custom_rpc_urls, system_disabled)
    VALUES ('${id}', '${id}', 'n', 'evm', 1, 0, '${address}', '${id}', 'hook', '{}', '[]', 0)`)
  const [row] = await rows<{ row_id: number }>(`SELECT row_id FROM relayers WHERE id = '${id}'`)
  return { row_id: (row as { row_id: number }).row_id, id, chain_id: chainId, address }
}

/** A transaction that can be accepted. */
export const newTransaction = (
  relayer: PlantedRelayer,
  id: string,
  changes: Partial<NewTransaction> = {},
): NewTransaction => ({
  id,
  network: 'n',
  relayer_row_id: relayer.row_id,
  relayer_id: relayer.id,
  chain_id: relayer.chain_id,
  from: relayer.address,
  to: `0x${'5a'.repeat(20)}`,
  type: 2,
  value: '1',
  data: null,
  gas_limit: 21_000,
  gas_price: '10',
  max_fee_per_gas: null,
  max_priority_fee_per_gas: null,
  speed: null,
  valid_until: null,
  intent: 'send',
  status_reason: null,
  ...changes,
})
