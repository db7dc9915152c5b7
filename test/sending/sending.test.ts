import { expect, test } from 'vitest'
import { testChain } from '../support/chain.ts'
import { startTestService } from '../support/service.ts'

test('sends a transaction and confirms it', async () => {
  const chain = await testChain({ blockTime_s: 0.3 })
  const { client } = await startTestService()
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: [chain.url] },
  })
  const path = { relayer_id: 'demo' }
  const relayer = await client.get('/api/v1/relayers/{relayer_id}', { path })
  await chain.setBalance(relayer.data.address, 10n ** 20n)
  const validUntil = new Date(Date.now() + 3_600_000).toISOString()
  const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions', {
    path,
    query: { wait: 'confirmed' },
    body: { to: chain.accounts[0]?.address ?? '', value: '1000', valid_until: validUntil },
  })
  expect(data).toMatchObject({ network: 'local', type: 2, valid_until: validUntil, moved_to_transaction_id: null })
  // A busy machine may need longer than the 30 s of `wait`.
  const itsPath = { ...path, transaction_id: data.id }
  const get = () => client.get('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', { path: itsPath })
  await expect.poll(async () => (await get()).data.status).toBe('confirmed')
})
