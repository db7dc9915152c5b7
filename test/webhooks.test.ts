import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { testChain } from './support/chain.ts'
import { startTestService } from './support/service.ts'

test('each state of a transaction is delivered', async () => {
  const got: { headers: object; body: string }[] = []
  const receiver = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      got.push({ headers: request.headers, body })
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void receiver.close())
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  const chain = await testChain({ blockTime_s: 0.3 })
  const { client, logged } = await startTestService()
  await client.patch('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' }, body: { rpc_urls: [chain.url] } })
  await client.post('/api/v1/notifications', { body: { id: 'n', url, signing_key: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' } })
  const path = { relayer_id: 'demo' }
  const relayer = await client.patch('/api/v1/relayers/{relayer_id}', { path, body: { notification_id: 'n' } })
  await chain.setBalance(relayer.data.address, 10n ** 20n)
  await client.post('/api/v1/relayers/{relayer_id}/transactions', {
    path,
    query: { wait: 'confirmed', wait_seconds: 10 },
    body: { to: chain.accounts[0]?.address ?? '', value: '1000' },
  })
  await client.patch('/api/v1/relayers/{relayer_id}', { path, body: { paused: true } })
  await expect.poll(() => got.length).toBe(6)
  console.error(got.map(({ body }) => body.slice(0, 300)), got[0]?.headers, logged.slice(-5))
  const health = await client.get('/api/v1/notifications/{notification_id}/health', { path: { notification_id: 'n' } })
  const list = await client.get('/api/v1/notifications/{notification_id}/deliveries', { path: { notification_id: 'n' } })
  const sent = await client.post('/api/v1/notifications/{notification_id}/test', { path: { notification_id: 'n' } })
  console.error(health.data, list.data[0], sent.data)
})
