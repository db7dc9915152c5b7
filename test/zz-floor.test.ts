import { setTimeout as pause } from 'node:timers/promises'
import { test } from 'vitest'
import { testChain } from './support/chain.ts'
import { createRelayer } from './support/resources.ts'
import { startTestService } from './support/service.ts'

const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
test.each([
  ['automine', {}],
  ['1s blocks', { blockTime_s: 1 }],
] as const)('floor %s', { timeout: 100_000 }, async (_, options) => {
  const chain = await testChain(options)
  const { client } = await startTestService()
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: [chain.url] },
  })
  const send = async (body: object) => {
    const r = await createRelayer(client)
    await chain.setBalance(r.address, 10n ** 20n)
    const path = { relayer_id: r.id }
    const { data } = await client
      .post('/api/v1/relayers/{relayer_id}/transactions', { path, body: { value: '1', ...body } as never })
      .catch((e) => ({ data: e }))
    console.log(JSON.stringify(body).slice(0, 60), data.status, data.details ?? '')
    return () =>
      data.id &&
      client
        .get('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
          path: { ...path, transaction_id: data.id },
        })
        .then(({ data }) => console.log('   then', data.status, data.status_reason))
  }
  const looks = [
    await send({ to, data: `0x${'ff'.repeat(100)}`, gas_limit: 22_600 }),
    await send({ to, data: `0x${'ff'.repeat(100)}`, gas_limit: 24_999 }),
    await send({ to, data: `0x${'ff'.repeat(100)}`, gas_limit: 25_000 }),
    await send({ to: null, value: '0', data: `0x${'00'.repeat(100)}`, gas_limit: 53_400 }),
    await send({ to, gas_limit: 40_000_000 }),
    await send({ to: null, value: '0', data: `0x${'00'.repeat(49_153)}`, gas_limit: 5_000_000 }),
  ]
  await pause(25_000)
  for (const look of looks) await look()
})
