import { expect, test } from 'vitest'
import { createRelayerClient } from '../../../client/index.ts'
import { testRig } from '../../support/test-rig.ts'

const relayers = '/api/v1/relayers/{relayer_id}'

test('the search finds hashes, addresses, references, ids and names by their beginning, and whole ones first', async () => {
  const { client: connect, addAccount, url } = await testRig()
  const client = connect()
  const [one, other] = [await addAccount(), await addAccount()]
  const receiver = `0x6b5a${'7c'.repeat(18)}`
  const [sent] = await one.send(1, { to: receiver, reference: 'Order-4800' })
  const [second] = await one.send(1, { reference: 'Order-4800-b' })
  const [hidden] = await other.send(1, { to: receiver, reference: 'Order-4801' })
  await one.finished()
  const get = (id: string) =>
    client.get(`${relayers}/transactions/{transaction_id}`, {
      path: { relayer_id: one.relayer_id, transaction_id: id },
    })
  const { data: done } = await get(sent?.id as string)
  const { data: key } = await client.post('/api/v1/api-keys', {
    body: { name: 'limited', scopes: ['read'], relayer_ids: [one.relayer_id] },
  })
  const limited = createRelayerClient({ baseUrl: url(), token: key.token })
  const find = async (q: string, its = client) => (await its.get('/api/v1/search', { query: { q } })).data
  const ids = async (q: string, its = client) => (await find(q, its)).map(({ id, found_by }) => `${id} ${found_by}`)
  const own = (foundBy: string) => `${sent?.id} ${foundBy}`

  for (const its of [client, limited]) {
    expect(await ids((done.hash as string).slice(0, 12), its)).toEqual([own('hash')])
    expect(await ids((done.hash as string).toUpperCase().slice(2, 20).replace(/^/, '0x'), its)).toEqual([own('hash')])
    expect(await ids(`${sent?.id}`.slice(0, 30), its)).toContain(own('id'))
    expect(await ids(one.address.slice(0, 10).toUpperCase().replace('0X', '0x'), its)).toContain(
      `${one.relayer_id} address`,
    )
  }
  expect(await ids('0x6b5a', limited)).toEqual([own('receiver')])
  expect((await ids('0x6b5a')).sort()).toEqual([own('receiver'), `${hidden?.id} receiver`].sort())
  expect((await ids('Order-48')).sort()).toEqual(
    [own('reference'), `${second?.id} reference`, `${hidden?.id} reference`].sort(),
  )
  expect(await ids('Order-4800', limited)).toEqual([own('reference'), `${second?.id} reference`])
  expect(await ids('order-4800')).toEqual([])
  expect(await ids('Ord')).toEqual([])
  expect(await ids('0x5')).toEqual([])
  expect(await ids('evm:lo')).toEqual(['evm:local id'])
  const [found] = await find('Order-4800', limited)
  expect(found).toMatchObject({ relayer_id: one.relayer_id, reference: 'Order-4800', nonce: 0, value: done.value })
  expect(found?.created_at).toBe(done.created_at)
})

test('the search tells what has the text, and finds nonces alone', async () => {
  const { client: connect, addAccount } = await testRig()
  const account = await addAccount()
  const receiver = `0x6b5b${'7c'.repeat(18)}`
  await account.send(2, { to: receiver, reference: 'nonces-1', metadata: { customer: '4711' } })
  await account.finished()
  const [second, first] = await account.transactions()
  const find = (q: string) => connect().get('/api/v1/search', { query: { q } })
  const matched = async (q: string) =>
    (await find(q)).data.filter(({ kind }) => kind === 'transaction').map((its) => `${its.nonce} ${its.matched}`)

  expect(await matched(`${first?.hash}`.slice(0, 16))).toEqual([`0 ${first?.hash}`])
  expect(await matched('0x6b5b')).toEqual([`1 ${receiver}`, `0 ${receiver}`])
  expect(await matched('nonces')).toEqual(['1 nonces-1', '0 nonces-1'])
  expect(await matched('customer:4711')).toEqual(['1 customer:4711', '0 customer:4711'])
  expect(await matched(`${second?.id}`)).toEqual([`1 ${second?.id}`])
  const ofNonces = (await find('nonce 1')).data.filter(({ relayer_id }) => relayer_id === account.relayer_id)
  expect(ofNonces.map(({ found_by, nonce }) => `${found_by} ${nonce}`)).toEqual(['nonce 1'])
  expect((await find('#1')).data.every(({ nonce }) => nonce === 1)).toBe(true)
  const [relayer] = (await find(account.address.slice(0, 12).toLowerCase())).data
  expect(relayer).toMatchObject({ kind: 'relayer', matched: account.address.toLowerCase() })
})

test('a list finds the same as the search by a text, and applies the rest of its filter', async () => {
  const { client: connect, addAccount, url } = await testRig()
  const client = connect()
  const [one, other] = [await addAccount(), await addAccount()]
  const receiver = `0x6b5c${'7c'.repeat(18)}`
  const [first] = await one.send(1, { to: receiver, reference: 'parcel-1' })
  const [second] = await other.send(1, { to: receiver, reference: 'parcel-1-b' })
  const [third] = await one.send(1, { reference: 'letter' })
  await Promise.all([one.finished(), other.finished()])
  const { data: key } = await client.post('/api/v1/api-keys', {
    body: { name: 'limited', scopes: ['read'], relayer_ids: [one.relayer_id] },
  })
  const limited = createRelayerClient({ baseUrl: url(), token: key.token })
  const all = async (query: object, its = client) =>
    (await its.get('/api/v1/transactions', { query })).data.map(({ id }) => id)
  const ofOne = async (query: object) =>
    (await client.get(`${relayers}/transactions/`, { path: { relayer_id: one.relayer_id }, query })).data.map(
      ({ id }) => id,
    )

  expect(await all({ search: '0x6b5c' })).toEqual([second?.id, first?.id])
  expect(await all({ search: 'parcel-1' })).toEqual([second?.id, first?.id])
  expect(await all({ search: ' parcel-1 ', reference: 'parcel-1' })).toEqual([first?.id])
  expect(await all({ search: 'parcel', status: ['failed'] })).toEqual([])
  expect(await all({ search: 'parcel', created_after: '2100-01-01T00:00:00Z' })).toEqual([])
  expect(await all({ search: 'parcel' }, limited)).toEqual([first?.id])
  expect(await all({ search: one.relayer_id.toUpperCase() })).toEqual([third?.id, first?.id])
  expect(await all({ search: other.relayer_id }, limited)).toEqual([])
  expect(await ofOne({ search: '0x6b5c' })).toEqual([first?.id])
  expect(await ofOne({ search: 'nonce 1' })).toEqual([third?.id])
  const { data, pagination } = await client.get('/api/v1/transactions', {
    query: { search: 'parcel', per_page: 1, page: 2 },
  })
  expect([data.map(({ id }) => id), pagination.total_items]).toEqual([[first?.id], 2])
})
