import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { apiKey } from '../bench/processes.ts'
import { asOnlyWriter } from '../support/only-writer.ts'

/** Production has no demo relayer: makes it, on a network without a chain unless one is given. */
export async function prepareDemo(url: string, rpcUrl = 'http://127.0.0.1:1'): Promise<{ address: string }> {
  const client = createRelayerClient({ baseUrl: url, token: apiKey, fetch: asOnlyWriter })
  const network = { name: 'local', network_type: 'evm' as const, chain_id: 31_337, rpc_urls: [rpcUrl] }
  await client.post('/api/v1/networks', {
    body: { ...network, required_confirmations: 1, average_blocktime_ms: 1_000, is_testnet: true },
  })
  await client.post('/api/v1/signers', { body: { id: 'demo', type: 'generated' } })
  const relayer = { id: 'demo', name: 'Demo', network: 'local', network_type: 'evm' as const, paused: false }
  return (await client.post('/api/v1/relayers', { body: { ...relayer, signer_id: 'demo' } })).data
}

/** Five networks that take a listing of 200 KB. (URLs of nodes are shown without their paths.) */
export async function prepareLongList(client: RelayerClient): Promise<void> {
  const explorerUrls = Array.from({ length: 20 }, (_, index) => `http://127.0.0.1:1/${index}${'x'.repeat(2_000)}`)
  for (let number = 1; number <= 5; number += 1) {
    const network = {
      name: `long-${number}`,
      network_type: 'evm' as const,
      chain_id: 1_000 + number,
      explorer_urls: explorerUrls,
    }
    await client.post('/api/v1/networks', {
      body: {
        ...network,
        rpc_urls: ['http://127.0.0.1:1'],
        required_confirmations: 1,
        average_blocktime_ms: 1_000,
        is_testnet: true,
      },
    })
  }
}
