import { expect, test } from 'vitest'
import { createRelayerClient, RelayerError, type RelayerPoliciesInput } from '../../../client/index.ts'
import { testChain } from '../../support/chain.ts'
import { createRelayer } from '../../support/resources.ts'
import { startTestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const transactions = '/api/v1/relayers/{relayer_id}/transactions'
const to = `0x${'5a'.repeat(20)}`
const dataOf = (bytes: number) => `0x${'00'.repeat(bytes)}`

async function start(policies: RelayerPoliciesInput) {
  const chain = await testChain({ noMining: true })
  const { client: obeying, url, api_key } = await startTestService()
  // One that is told of 429, and does not wait.
  const client = createRelayerClient({ baseUrl: url, token: api_key, maxRetries: 0 })
  const body = { rpc_urls: [chain.url] }
  await obeying.patch('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' }, body })
  const { id, address } = await createRelayer(obeying, { policies })
  await chain.setBalance(address, 10n ** 20n)
  const path = { relayer_id: id }
  const request = (dataBytes: number) => ({ to, value: '1', data: dataOf(dataBytes), gas_limit: 1_000_000 })
  return {
    chain,
    send: async (dataBytes = 0) => (await client.post(transactions, { path, body: request(dataBytes) })).data.id,
    dryRun: async (dataBytes = 0) =>
      (await client.post(`${transactions}/dry-run`, { path, body: request(dataBytes) })).data.refusals,
    replace: async (transactionId: string, dataBytes: number) =>
      client.put(`${transactions}/{transaction_id}`, {
        path: { ...path, transaction_id: transactionId },
        body: request(dataBytes),
      }),
    unfinished: async () =>
      (await client.get('/api/v1/relayers/{relayer_id}/status', { path })).data.pending_transactions_count,
  }
}

const refused = (policy: string) => ({
  status: 429,
  retryAfter: expect.any(Number),
  details: [{ path: `policies/${policy}`, message: expect.any(String) }],
})

test('refuses a transaction above the limit of unfinished ones, until one of them ends', async () => {
  const { chain, send, dryRun, unfinished } = await start({ max_pending: 3 })
  const sent = await Promise.allSettled(Array.from({ length: 8 }, () => send()))
  expect(sent.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  for (const one of sent) {
    if (one.status === 'rejected') {
      expect(one.reason).toBeInstanceOf(RelayerError)
      expect(one.reason).toMatchObject(refused('max_pending'))
    }
  }
  expect(await dryRun()).toMatchObject([{ http_status: 429, details: [{ path: 'policies/max_pending' }] }])
  await until('they end', async () => (await unfinished()) === 0, chain.mine)
  await send()
})

test('limits the data of unfinished transactions, and counts the increase of a replacement', async () => {
  const { send, dryRun, replace } = await start({ max_pending_bytes: 2_000 })
  const first = await send(1_500)
  await expect(send(501)).rejects.toMatchObject(refused('max_pending_bytes'))
  expect(await dryRun(501)).toMatchObject([{ details: [{ path: 'policies/max_pending_bytes' }] }])
  await expect(replace(first, 2_001)).rejects.toMatchObject(refused('max_pending_bytes'))
  await replace(first, 1_000)
  await send(1_000)
  // What takes no room is not refused.
  await send(0)
})
