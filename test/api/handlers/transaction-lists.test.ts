import { expect, test } from 'vitest'
import { createRelayerClient } from '../../../client/index.ts'
import { createRelayer } from '../../support/resources.ts'
import { startTestService } from '../../support/service.ts'
import { testRig } from '../../support/test-rig.ts'
import { changeTransaction, insertTransactions, transactionId } from '../../support/transactions.ts'
import { until } from '../../support/until.ts'

const listPath = '/api/v1/relayers/{relayer_id}/transactions/'
const allPath = '/api/v1/transactions'

test('stores, shows and finds a reference; a replacement keeps it or sets another', async () => {
  const { client, addAccount, chain } = await testRig({ chain: { noMining: true } })
  const account = await addAccount()
  const reference = `order 17/ü ${'x'.repeat(244)}`
  expect([...reference]).toHaveLength(255)
  const [first] = await account.send(1, { reference })
  await account.send(1)
  expect(first?.reference).toBe(reference)
  const path = { relayer_id: account.relayer_id }
  const found = async (query: { reference?: string; hash?: string; to?: string }) =>
    (await client().get(listPath, { path, query: query as object })).data.map(({ id }) => id)
  expect(await found({ reference })).toEqual([first?.id])
  expect(await found({ reference: 'order 17' })).toEqual([])

  await until('it is with a node', async () =>
    (await account.transactions()).every(({ status }) => status === 'submitted'),
  )
  const before = (await account.transactions())[1]
  const replace = (body: object) =>
    client().put('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
      path: { ...path, transaction_id: first?.id as string },
      body: { to: `0x${'77'.repeat(20)}`, value: '7', ...body },
    })
  expect((await replace({})).data.reference).toBe(reference)
  const hashNow = async () => (await account.transactions())[1]?.hash
  await until('it is signed again', async () => (await hashNow()) !== before?.hash)
  // Any hash that it was ever signed with finds it, in any case of the digits.
  const [old, now] = [before?.hash as string, (await hashNow()) as string]
  expect(await found({ hash: old.toUpperCase().replace('0X', '0x') })).toEqual([first?.id])
  expect(await found({ hash: now })).toEqual([first?.id])
  expect(await found({ to: `0x${'77'.repeat(20)}` })).toEqual([first?.id])
  // Before a node has it, the same content would be the same bytes.
  await until('a node has it', async () => {
    const attempt = { ...path, transaction_id: first?.id as string }
    const { data } = await client().get('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/attempts', {
      path: attempt,
    })
    return data.every(({ accepted_at }) => accepted_at !== null)
  })
  expect((await replace({ reference: 'another' })).data.reference).toBe('another')
  expect([await found({ reference }), await found({ reference: 'another' })]).toEqual([[], [first?.id]])
  await account.finished(chain.mine)
})

test.each([[''], ['x'.repeat(256)], ['a\u0000b']])('rejects the reference %j', async (reference) => {
  const { client } = await startTestService()
  const body = { to: `0x${'77'.repeat(20)}`, value: '7', reference } as const
  const sent = client.post('/api/v1/relayers/{relayer_id}/transactions', { path: { relayer_id: 'demo' }, body })
  await expect(sent).rejects.toMatchObject({ status: 400, details: [{ path: '/body/reference' }] })
})

test('lists a range of nonces, the highest first', async () => {
  const service = await startTestService()
  const { client } = service
  await insertTransactions(service, 'demo', 2_500)
  const list = (query: { nonce_from?: number; nonce_to?: number; per_page?: number; page?: number }) =>
    client.get(listPath, { path: { relayer_id: 'demo' }, query })
  const { data, pagination } = await list({ nonce_from: 100, nonce_to: 2_399, per_page: 2, page: 2 })
  expect([pagination.total_items, ...data.map(({ nonce }) => nonce)]).toEqual([2_300, 2_397, 2_396])
  expect((await list({ nonce_from: 2_499 })).data.map(({ nonce }) => nonce)).toEqual([2_499])
  expect((await list({ nonce_to: 0 })).data.map(({ nonce }) => nonce)).toEqual([0])
})

test('merges the list of all relayers by time, with filters, limited to the key’s relayers', async () => {
  const service = await startTestService()
  const { client, url } = service
  const { id: other } = await createRelayer(client)
  const { id: gone } = await createRelayer(client)
  // In turns, so that the lists of the two interleave.
  for (let round = 0; round < 4; round += 1) {
    await insertTransactions(service, 'demo', 5, round * 5 + 1)
    await insertTransactions(service, other, 5, round * 5 + 1)
  }
  await insertTransactions(service, gone, 3)
  await client.delete('/api/v1/relayers/{relayer_id}', { path: { relayer_id: gone } })
  const expected = [3, 2, 1, 0].flatMap((round) =>
    [other, 'demo'].flatMap((id) => [5, 4, 3, 2, 1].map((index) => transactionId(id, round * 5 + index))),
  )
  const ids = async (query: object) => (await client.get(allPath, { query })).data.map(({ id }) => id)
  expect(await ids({ per_page: 1_000 })).toEqual(expected)
  expect(await ids({ per_page: 7, page: 3 })).toEqual(expected.slice(14, 21))
  expect(await Array.fromAsync(client.all(allPath, { query: { per_page: 9 } }), ({ id }) => id)).toEqual(expected)
  const { pagination } = await client.get(allPath, { query: { per_page: 0 } })
  expect(pagination).toEqual({ current_page: 1, per_page: 0, total_items: 40 })

  await changeTransaction(service, transactionId('demo', 3), { status: 'failed', reference: 'order-7' })
  await changeTransaction(service, transactionId(other, 17), { reference: 'order-7' })
  expect(await ids({ reference: 'order-7' })).toEqual([transactionId(other, 17), transactionId('demo', 3)])
  expect(await ids({ status: ['failed'] })).toEqual([transactionId('demo', 3)])

  const { data: key } = await client.post('/api/v1/api-keys', {
    body: { name: 'limited', scopes: ['read'], relayer_ids: [other] },
  })
  const limited = createRelayerClient({ baseUrl: url, token: key.token })
  const seen = await limited.get(allPath, { query: { per_page: 1_000 } })
  expect(seen.data.map(({ id }) => id)).toEqual(expected.filter((id) => id.startsWith(`${other}-`)))
  expect(seen.pagination.total_items).toBe(20)
})

test('limits the list of all relayers to a depth of 10,000, and says how to continue', async () => {
  const service = await startTestService()
  const { client } = service
  await insertTransactions(service, 'demo', 10_001)
  const list = (page: number) => client.get(allPath, { query: { per_page: 1_000, page } })
  expect((await list(10)).data.at(-1)?.id).toBe(transactionId('demo', 2))
  await expect(list(11)).rejects.toMatchObject({ status: 400, details: [{ path: '/query/page' }] })
  expect(await list(12)).toMatchObject({ data: [], pagination: { total_items: 10_001 } })
})
