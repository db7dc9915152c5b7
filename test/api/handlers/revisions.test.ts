import { expect, test } from 'vitest'
import { createRelayerClient, type RelayerClient, RelayerError } from '../../../client/index.ts'
import { startTestService } from '../../support/service.ts'

// Two operators at once: what one of them changes from a page that is seconds old does not undo what the other has changed.

const [one, two] = ['0x70997970c51812dc3a010c7d01b50e0d17dc79c8', `0x${'12'.repeat(20)}`]

/** A client that sends no revision by itself. */
async function start() {
  const service = await startTestService()
  const client = createRelayerClient({ baseUrl: service.url, token: service.api_key })
  return { client, raw: service.raw }
}

const refused = (work: Promise<unknown>): Promise<RelayerError> =>
  work.then(
    () => expect.fail('It was not refused'),
    (error) => (error instanceof RelayerError ? error : Promise.reject(error)),
  )

const changedSince = (...members: string[]) => ({
  status: 412,
  code: 'precondition_failed',
  details: [
    { path: '/headers/if-match', message: 'the resource was changed since it was read; read it again' },
    ...members.map((name) => ({ path: `current/${name}`, message: 'was changed since' })),
  ],
})
const needsRevision = (...members: string[]) => ({
  status: 428,
  code: 'precondition_required',
  details: [
    { path: '/headers/if-match', message: expect.stringContaining('must be given') },
    ...members.map((name) => ({ path: `/body/${name}`, message: expect.stringContaining('replaces') })),
  ],
})

async function createRelayer(client: RelayerClient, id: string) {
  await client.signers.create({ id, type: 'generated' })
  await client.relayers.create({ id, name: id, network: 'local', network_type: 'evm', paused: false, signer_id: id })
}

async function createKey(client: RelayerClient) {
  const scopes = ['read', 'send', 'manage'] as const
  const { api_key } = await client.apiKeys.create({ name: 'shop', scopes: [...scopes], relayer_ids: ['demo'] })
  return api_key
}

test('API key: a name that is saved from an old page gives back no right that was revoked since', async () => {
  const { client } = await start()
  const page = await createKey(client)
  const { id, revision } = page
  await client.apiKeys.update(id, { scopes: ['read'], allowed_cidrs: ['10.0.0.0/8'] }, { revision })
  const { relayer_ids, allowed_cidrs } = page
  const saved = { name: 'shop 2', scopes: ['read' as const, 'send' as const], relayer_ids, allowed_cidrs }
  expect(await refused(client.apiKeys.update(id, saved))).toMatchObject(
    needsRevision('scopes', 'relayer_ids', 'allowed_cidrs'),
  )
  const stale = await refused(client.apiKeys.update(id, saved, { revision }))
  expect(stale).toMatchObject(changedSince('scopes', 'allowed_cidrs'))
  const now = await client.apiKeys.get(id)
  expect(now).toMatchObject({ name: 'shop', scopes: ['read'], allowed_cidrs: ['10.0.0.0/8'] })
  expect(stale.revision).toBe(now.revision)
  // The name alone takes no right from anybody.
  expect(await client.apiKeys.update(id, { name: 'shop 3' })).toMatchObject({ name: 'shop 3', scopes: ['read'] })
})

test('relayer: notifications and a list of a policy that were changed since stay', async () => {
  const { client } = await start()
  for (const id of ['a', 'b']) await client.notifications.create({ id, url: 'https://example.com/hook' })
  const page = await client.relayers.update(
    'demo',
    { notification_ids: ['a', 'b'], policies: { whitelist_receivers: [one, two] } },
    { revision: '*' },
  )
  const { revision } = page
  await client.relayers.update('demo', { notification_ids: ['a'] }, { revision })
  const old = { name: 'New', notification_ids: ['a', 'b'] }
  expect(await refused(client.relayers.update('demo', old))).toMatchObject(needsRevision('notification_ids'))
  expect(await refused(client.relayers.update('demo', old, { revision }))).toMatchObject(
    changedSince('notification_ids'),
  )

  const { revision: second } = await client.relayers.get('demo')
  await client.relayers.update('demo', { policies: { whitelist_receivers: [one] } }, { revision: second })
  const list = { policies: { whitelist_receivers: [one, two], gas_price_cap: '1' } }
  expect(await refused(client.relayers.update('demo', list))).toMatchObject(
    needsRevision('policies/whitelist_receivers'),
  )
  expect(await refused(client.relayers.update('demo', list, { revision: second }))).toMatchObject(
    changedSince('policies'),
  )
  expect(await client.relayers.get('demo')).toMatchObject({
    name: expect.not.stringContaining('New'),
    notification_ids: ['a'],
    policies: { whitelist_receivers: [one] },
  })
})

test('relayer: one notification in the place of several needs the revision, in the place of one it does not', async () => {
  const { client } = await start()
  for (const id of ['a', 'b', 'c']) await client.notifications.create({ id, url: 'https://example.com/hook' })
  await client.relayers.update('demo', { notification_id: 'a' })
  await client.relayers.update('demo', { notification_ids: ['a', 'b'] }, { revision: '*' })
  expect(await refused(client.relayers.update('demo', { notification_id: 'c' }))).toMatchObject(
    needsRevision('notification_id'),
  )
  expect(await client.relayers.update('demo', { notification_id: null }, { revision: '*' })).toMatchObject({
    notification_ids: [],
  })
})

test('notification: a filter that is saved from an old page does not bring a former URL or key back', async () => {
  const { client } = await start()
  const [url, other] = ['https://old.example.com/hook', 'https://new.example.com/hook']
  const { revision } = await client.notifications.create({ id: 'a', url, signing_key: 'first' })
  // The target alone is all of what the caller means.
  await client.notifications.update('a', { type: 'webhook', url: other })
  const { revision: second } = await client.notifications.update('a', { signing_key: 'second' })
  const saved = { url, filter: { statuses: ['failed' as const] } }
  expect(await refused(client.notifications.update('a', saved))).toMatchObject(needsRevision('url'))
  expect(await refused(client.notifications.update('a', saved, { revision }))).toMatchObject(
    changedSince('url', 'signing_key'),
  )
  expect(await client.notifications.get('a')).toMatchObject({ url: other, revision: second })
})

test('pool and sponsorship: a list that was changed since stays', async () => {
  const { client } = await start()
  await createRelayer(client, 'other')
  const pool = await client.pools.create({ id: 'payouts', network: 'local', relayer_ids: ['demo', 'other'] })
  await client.pools.update('payouts', { relayer_ids: ['demo'] }, { revision: pool.revision })
  const old = { name: 'Payouts', relayer_ids: ['demo', 'other'] }
  expect(await refused(client.pools.update('payouts', old))).toMatchObject(needsRevision('relayer_ids'))
  expect(await refused(client.pools.update('payouts', old, { revision: pool.revision }))).toMatchObject(
    changedSince('relayers'),
  )
  expect(await client.pools.get('payouts')).toMatchObject({ relayers: [{ relayer_id: 'demo' }] })

  const rules = { max_gas_per_call: 100_000, max_fee_per_call: '1', max_fee_per_day: '2' }
  const { sponsorship } = await client.sponsorships.create({ id: 's', relayer_id: 'demo', ...rules, delegates: [one] })
  await client.sponsorships.update('s', { delegates: [] }, { revision: sponsorship.revision })
  expect(await refused(client.sponsorships.update('s', { delegates: [one] }))).toMatchObject(needsRevision('delegates'))
  expect(
    await refused(client.sponsorships.update('s', { delegates: [one] }, { revision: sponsorship.revision })),
  ).toMatchObject(changedSince('delegates'))
})

test('a revision is in lists and in ETag, and confirms no guess of what is not shown', async () => {
  const { client, raw } = await start()
  const network = await client.networks.get('evm:local')
  const response = await raw('/api/v1/networks/evm:local')
  expect(response.headers.get('ETag')).toBe(`"${network.revision}"`)
  expect((await Array.fromAsync(client.networks.list()))[0]).toEqual(network)
  const header = (value: string) => ({ 'If-Match': value })
  const path = { network_id: 'evm:local' }
  const patch = (value: string, url: string) =>
    client.patch('/api/v1/networks/{network_id}', { path, header: header(value), body: { rpc_urls: [url] } })
  const first = (await patch(`W/"${network.revision}"`, 'http://127.0.0.1:8545/a')).data
  const second = (await patch(`"no-revision", "${first.revision}"`, 'http://127.0.0.1:8546/a')).data
  expect(second.revision).not.toBe(first.revision)
  expect(await refused(patch(`"${first.revision}"`, 'http://127.0.0.1:8545/c'))).toMatchObject(changedSince('rpc_urls'))
  // The path of a URL is masked, and no part of it.
  const third = (await patch('*', 'http://127.0.0.1:8546/b')).data
  expect([third.rpc_urls, third.revision]).toEqual([second.rpc_urls, second.revision])
  expect(await refused(patch('not one', 'http://127.0.0.1:8545/d'))).toMatchObject({ status: 400 })
})

test('one of many changes that were made from the same revision is made', async () => {
  const { client } = await start()
  const { id, revision } = await createKey(client)
  const names = Array.from({ length: 20 }, (_, index) => `shop ${index}`)
  const results = await Promise.allSettled(names.map((name) => client.apiKeys.update(id, { name }, { revision })))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
})

test('funding: settings that were changed since stay', async () => {
  const { client } = await start()
  await createRelayer(client, 'treasury')
  const settings = {
    treasury_id: 'treasury',
    min_balance: '1',
    target_balance: '2',
    max_amount_per_day: '3',
    max_fee_per_gas: '4',
  }
  const { revision } = await client.relayers.replaceFunding('demo', settings)
  const { revision: second } = await client.relayers.replaceFunding(
    'demo',
    { ...settings, max_amount_per_day: '9' },
    { revision },
  )
  expect(await refused(client.relayers.replaceFunding('demo', settings, { revision }))).toMatchObject(
    changedSince('max_amount_per_day'),
  )
  expect(await client.relayers.getFunding('demo')).toMatchObject({
    funding: { max_amount_per_day: '9' },
    revision: second,
  })
})

test('nothing that was changed since is deleted, or weighed', async () => {
  const { client } = await start()
  await createRelayer(client, 'other')
  const pool = await client.pools.create({ id: 'payouts', network: 'local', relayer_ids: ['demo', 'other'] })
  await client.pools.update('payouts', { weights: { demo: 5 } }, { revision: pool.revision })
  const { revision } = pool
  expect(await refused(client.pools.update('payouts', { weights: { demo: 9 } }, { revision }))).toMatchObject(
    changedSince('relayers'),
  )
  expect(await refused(client.pools.delete('payouts', { revision }))).toMatchObject(changedSince('relayers'))
  const { revision: present, relayers } = await client.pools.get('payouts')
  expect(relayers).toMatchObject([{ weight: 5 }, { weight: 100 }])
  await client.pools.delete('payouts', { revision: present })

  const hook = await client.notifications.create({ id: 'a', url: 'https://example.com/a' })
  await client.notifications.update('a', { url: 'https://example.com/b' })
  expect(await refused(client.notifications.delete('a', { revision: hook.revision }))).toMatchObject(
    changedSince('url'),
  )
  const key = await createKey(client)
  await client.apiKeys.update(key.id, { name: 'b' })
  expect(await refused(client.apiKeys.delete(key.id, { revision: key.revision }))).toMatchObject(changedSince('name'))
  const settings = {
    treasury_id: 'other',
    min_balance: '1',
    target_balance: '2',
    max_amount_per_day: '3',
    max_fee_per_gas: '4',
  }
  const funding = await client.relayers.replaceFunding('demo', settings)
  await client.relayers.replaceFunding('demo', { ...settings, max_amount_per_day: '9' })
  expect(await refused(client.relayers.deleteFunding('demo', { revision: funding.revision }))).toMatchObject(
    changedSince('max_amount_per_day'),
  )
  const network = await client.networks.get('evm:local')
  await client.networks.update('evm:local', { symbol: 'LOC' })
  expect(await refused(client.networks.delete('evm:local', { revision: network.revision }))).toMatchObject(
    changedSince('symbol'),
  )
  const relayer = await client.relayers.get('other')
  await client.relayers.update('other', { name: 'Renamed' })
  expect(await refused(client.relayers.delete('other', { revision: relayer.revision }))).toMatchObject(
    changedSince('name'),
  )
  const rules = { relayer_id: 'demo', max_gas_per_call: 100_000, max_fee_per_call: '1', max_fee_per_day: '2' }
  const { sponsorship } = await client.sponsorships.create({ id: 's', ...rules })
  await client.sponsorships.update('s', { max_fee_per_call: '2' })
  expect(await refused(client.sponsorships.delete('s', { revision: sponsorship.revision }))).toMatchObject(
    changedSince('max_fee_per_call'),
  )
  // Without a revision, or with any: whatever there is now.
  await client.sponsorships.delete('s')
  await client.apiKeys.delete(key.id, { revision: '*' })
})
