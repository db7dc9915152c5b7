import { expect, test } from 'vitest'
import { testChain } from '../support/chain.ts'
import { startTestService } from '../support/service.ts'

test('sends a transaction and confirms it', async () => {
  const chain = await testChain({ blockTime_s: 0.3 })
  const { client, logged } = await startTestService()
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: [chain.url] },
  })
  const path = { relayer_id: 'demo' }
  const relayer = await client.get('/api/v1/relayers/{relayer_id}', { path })
  await chain.setBalance(relayer.data.address, 10n ** 20n)
  const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions', {
    path,
    query: { wait: 'confirmed', wait_seconds: 10 },
    body: { to: chain.accounts[0]?.address ?? '', value: '1000' },
  })
  console.error(JSON.stringify(data, null, 1), logged.slice(-5))
  expect(data.status).toBe('confirmed')
})
