import { expect, test } from 'vitest'
import type { Transaction } from '../../generated/openapi.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'
import { changeTransaction, insertTransactions, transactionId } from '../support/transactions.ts'

const listPath = '/api/v1/relayers/{relayer_id}/transactions/'

test('returns every member of a transaction, null while it is unknown', async () => {
  const service = await startTestService()
  const { data: relayer } = await service.client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' } })
  await insertTransactions(service, 'demo', 1)
  const { data } = await service.client.get(listPath, { path: { relayer_id: 'demo' } })
  expect(data).toEqual([
    {
      id: transactionId('demo', 1),
      relayer_id: 'demo',
      hash: null,
      from: relayer.address,
      to: relayer.address,
      value: '1',
      data: null,
      nonce: 0,
      gas_limit: null,
      gas_price: null,
      max_fee_per_gas: null,
      max_priority_fee_per_gas: null,
      status: 'confirmed',
      status_reason: null,
      created_at: '2026-01-01T00:00:00.000Z',
      sent_at: null,
      confirmed_at: null,
      ended_at: '2026-01-01T00:00:00.000Z',
      signature: null,
      speed: null,
      speed_percentile: null,
      receipt: null,
      error: null,
      reference: null,
      deduplication_id: null,
      ordering_key: null,
      pool_id: null,
      access_list: null,
      authorization_list: null,
      revision: '1',
      call: null,
      is_canceling: false,
      metadata: null,
      moved_to_transaction_id: null,
      network: 'local',
      submission: null,
      type: 2,
      valid_until: null,
      wait_reason: null,
    },
  ])
})

test('returns known members: amounts as decimal strings, the signature as an object', async () => {
  const service = await startTestService()
  await insertTransactions(service, 'demo', 1)
  const hash = `0x${'ab'.repeat(32)}`
  const known: Partial<Transaction> = {
    hash,
    to: null,
    value: (2n ** 256n - 1n).toString(),
    data: '0x00ff',
    nonce: Number.MAX_SAFE_INTEGER,
    gas_limit: 21_000,
    max_fee_per_gas: (2n ** 64n).toString(),
    max_priority_fee_per_gas: '0',
    status: 'failed',
    status_reason: 'execution reverted',
    sent_at: '2026-01-01T00:00:01.000Z',
    confirmed_at: '2026-01-01T00:00:02.000Z',
    signature: { r: hash, s: hash, sig: `0x${'cd'.repeat(65)}`, v: 1 },
    speed: 'safe_low',
  }
  await changeTransaction(service, transactionId('demo', 1), known)
  const { data } = await service.client.get(listPath, { path: { relayer_id: 'demo' } })
  expect(data[0]).toMatchObject(known)
})

test('returns the newest first, and each relayer’s own only', async () => {
  const service = await startTestService()
  const { id } = await createRelayer(service.client)
  const list = async (relayerId: string) => {
    const { data, pagination } = await service.client.get(listPath, {
      path: { relayer_id: relayerId },
      query: { per_page: 3 },
    })
    return [pagination.total_items, ...data.map((transaction) => transaction.id)]
  }
  expect(await list('demo')).toEqual([0])
  await insertTransactions(service, 'demo', 12)
  await insertTransactions(service, id, 2)
  expect(await list('demo')).toEqual([12, ...[12, 11, 10].map((sequence) => transactionId('demo', sequence))])
  expect(await list(id)).toEqual([2, ...[2, 1].map((sequence) => transactionId(id, sequence))])
})

test('serves the path with and without a trailing slash', async () => {
  const service = await startTestService()
  await insertTransactions(service, 'demo', 12)
  const bodies = []
  for (const end of ['transactions/', 'transactions', 'transactions/?page=1', 'transactions?page=1']) {
    const response = await service.raw(`/api/v1/relayers/demo/${end}`)
    expect(response.status, end).toBe(200)
    bodies.push(await response.json())
  }
  for (const body of bodies) expect(body).toEqual(bodies[0])
})

test('names an unknown relayer in the 404', async () => {
  const { client } = await startTestService()
  await expect(client.get(listPath, { path: { relayer_id: "it's~me" } })).rejects.toMatchObject({
    status: 404,
    message: "Relayer with ID it's~me not found",
  })
})

test('lists the transactions of a paused relayer', async () => {
  const service = await startTestService()
  await insertTransactions(service, 'demo', 1)
  const path = { relayer_id: 'demo' }
  await service.client.patch('/api/v1/relayers/{relayer_id}', { path, body: { paused: true } })
  expect((await service.client.get(listPath, { path })).data).toHaveLength(1)
})

test('starts with an empty list for a relayer with a deleted one’s id', async () => {
  const service = await startTestService()
  await insertTransactions(service, 'demo', 3)
  const path = { relayer_id: 'demo' }
  await service.client.delete('/api/v1/relayers/{relayer_id}', { path })
  await expect(service.client.get(listPath, { path })).rejects.toMatchObject({ status: 404 })
  await createRelayer(service.client, { id: 'demo', signer_id: 'demo' })
  const { data, pagination } = await service.client.get(listPath, { path })
  expect([data, pagination.total_items]).toEqual([[], 0])
})

test('returns a page of megabytes in steps, complete and in order, also with filters and for HEAD', async () => {
  const service = await startTestService()
  const count = 35
  await insertTransactions(service, 'demo', count)
  const ids = Array.from({ length: count }, (_, index) => transactionId('demo', count - index))
  // Of one the characters are more bytes than characters.
  const reason = 'ä'.repeat(500)
  // Every fifth is short, and read otherwise than the long ones.
  const data = ids.map((_, index) => `0x${(index + 16).toString(16).repeat(index % 5 === 0 ? 999 : 60_000)}`)
  for (const [index, id] of ids.entries())
    await changeTransaction(service, id, { data: data[index] as string, status_reason: reason })
  for (const id of ids.filter((_, index) => index % 3 === 0)) await changeTransaction(service, id, { status: 'failed' })

  const read = async (query: string) => {
    const answer = await service.raw(`/api/v1/relayers/demo/transactions?per_page=1000${query}`)
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect(Number(answer.headers.get('content-length'))).toBe(bytes.length)
    return JSON.parse(bytes.toString('utf8'))
  }
  const { data: rows, ...envelope } = await read('')
  expect(envelope).toEqual({
    success: true,
    error: '',
    pagination: { current_page: 1, per_page: 1_000, total_items: count },
  })
  expect(rows.map(({ id }: Transaction) => id)).toEqual(ids)
  expect(rows.map(({ data }: Transaction) => data)).toEqual(data)
  expect(new Set(rows.map(({ status_reason }: Transaction) => status_reason))).toEqual(new Set([reason]))
  const confirmed = await read('&status=confirmed')
  expect(confirmed.data.map(({ id }: Transaction) => id)).toEqual(ids.filter((_, index) => index % 3 !== 0))

  const head = await service.raw('/api/v1/relayers/demo/transactions?per_page=1000', { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
  expect(Number(head.headers.get('content-length'))).toBeGreaterThan(3_000_000)
})
