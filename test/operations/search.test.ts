import { expect, test } from 'vitest'
import { createRelayerClient } from '../../client/index.ts'
import { testRig } from '../support/test-rig.ts'

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
  const own = (found_by: string) => `${sent?.id} ${found_by}`

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
})
