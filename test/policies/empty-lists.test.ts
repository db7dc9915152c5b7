import { expect, test } from 'vitest'
import {
  type CreateApiKeyRequest,
  createRelayerClient,
  type PoolPoliciesInput,
  type RelayerClient,
  RelayerError,
  type RelayerPoliciesInput,
} from '../../client/index.ts'
import { unsigned } from '../support/policies.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'
import { play, sponsoredRig } from '../support/sponsorship.ts'
import { testRig } from '../support/test-rig.ts'

/* One rule: a list that is not set limits nothing, and an empty one allows nothing or is refused. */

const to = `0x${'12'.repeat(20)}`
const path = '/api/v1/relayers/{relayer_id}'
type Act = (client: RelayerClient, relayerId: string) => Promise<unknown>

/** `done`, or the status with the paths that are named. */
const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error) => {
      if (!(error instanceof RelayerError)) throw error
      return [error.status, ...error.details.map((detail) => detail.path)].join(' ')
    },
  )

const signs: Act = (client, relayerId) =>
  client.post(`${path}/sign-transaction`, {
    path: { relayer_id: relayerId },
    body: { unsigned_transaction: unsigned({ to, value: '1' }) },
  })
const signsHashes: Act = (client, relayerId) => {
  const body = { domain_separator: 'ab'.repeat(32), hash_struct_message: 'cd'.repeat(32) }
  return client.post(`${path}/sign-typed-data`, { path: { relayer_id: relayerId }, body })
}
const authorizes: Act = (client, relayerId) =>
  client.post(`${path}/sign-authorization`, { path: { relayer_id: relayerId }, body: { address: to, nonce: 0 } })

test.each<[list: string, others: RelayerPoliciesInput, empty: RelayerPoliciesInput, act: Act, refusedAs: string]>([
  ['whitelist_receivers', {}, { whitelist_receivers: [] }, signs, 'whitelist_receivers'],
  ['selectors', {}, { allowed_functions: [{ address: to, selectors: [] }] }, signs, 'allowed_functions'],
  ['allowed_delegates', { allow_authorizations: true }, { allowed_delegates: [] }, authorizes, 'allowed_delegates'],
  [
    'whitelist_receivers, of delegates',
    { allow_authorizations: true },
    { whitelist_receivers: [] },
    authorizes,
    'whitelist_receivers',
  ],
  [
    'allowed_delegates beside receivers',
    { allow_authorizations: true, whitelist_receivers: [to] },
    { allowed_delegates: [] },
    authorizes,
    'allowed_delegates',
  ],
  ['allowed_domain_separators', {}, { allowed_domain_separators: [] }, signsHashes, 'allowed_domain_separators'],
])(
  'a relayer without %s is not limited, and an empty list allows nothing',
  async (_, others, empty, act, refusedAs) => {
    const { client } = await startTestService()
    const { id } = await createRelayer(client, { policies: others })
    expect(await outcomeOf(act(client, id))).toBe('done')
    const change = (policies: object) => client.patch(path, { path: { relayer_id: id }, body: { policies } })
    await change(empty)
    expect(await outcomeOf(act(client, id))).toBe(`403 policies/${refusedAs}`)
    await change(Object.fromEntries(Object.keys(empty).map((name) => [name, null])))
    expect(await outcomeOf(act(client, id))).toBe('done')
  },
)

test.each<[list: string, empty: PoolPoliciesInput, refusedAs: string]>([
  ['whitelist_receivers', { whitelist_receivers: [] }, 'whitelist_receivers'],
  ['selectors', { allowed_functions: [{ address: to, selectors: [] }] }, 'allowed_functions'],
])('a pool without %s is not limited, and an empty list allows nothing', async (_, empty, refusedAs) => {
  const rig = await testRig()
  const client = rig.client()
  const { relayer_id } = await rig.addAccount()
  const { id } = await client.pools.create({ network: 'local', relayer_ids: [relayer_id] })
  const sends = () => outcomeOf(client.pools.sendTransaction(id, { to, value: '1' }))
  expect(await sends()).toBe('done')
  await client.pools.update(id, { policies: empty }, { revision: '*' })
  expect(await sends()).toBe(`403 pool/policies/${refusedAs}`)
})

test.each<[list: string, key: Partial<CreateApiKeyRequest>, outcome: string]>([
  ['relayer_ids absent', {}, 'done'],
  ['relayer_ids null', { relayer_ids: null }, 'done'],
  ['relayer_ids []', { relayer_ids: [] }, '404'],
  ['pool_ids []', { relayer_ids: null, pool_ids: [] }, 'done'],
  ['pool_ids [] alone, which limits to no pool', { pool_ids: [] }, '404'],
  ['budget.assets []', { budget: { assets: [] } }, '403 api_key/budget/assets'],
  ['budget.receivers absent', { budget: { assets: [{ asset: 'coin', max_amount_per_day: '9' }] } }, 'done'],
  [
    'budget.receivers null',
    { budget: { assets: [{ asset: 'coin', max_amount_per_day: '9' }], receivers: null } },
    'done',
  ],
  [
    'budget.receivers []',
    { budget: { assets: [{ asset: 'coin', max_amount_per_day: '9' }], receivers: [] } },
    '403 api_key/budget/receivers',
  ],
  ['allowed_cidrs null', { allowed_cidrs: null }, 'done'],
])('an API key with %s', async (_, key, outcome) => {
  const { client, url } = await startTestService()
  const { id } = await createRelayer(client)
  const { data } = await client.post('/api/v1/api-keys', { body: { name: 'agent', scopes: ['sign'], ...key } })
  const limited = createRelayerClient({ baseUrl: url, token: data.token })
  const found = await outcomeOf(signs(limited, id))
  expect(outcome === '404' ? found.split(' ')[0] : found).toBe(outcome)
})

test('a list of nothing that makes no sense is refused', async () => {
  const { raw, client } = await startTestService()
  const { id, signer_id } = await createRelayer(client)
  const key = { name: 'agent', scopes: ['sign'] }
  const pool = { network: 'local', relayer_ids: [id] }
  const facilitator = { pool_id: 'p', pay_to: to, max_fee_per_payment: '1', max_fee_per_day: '1' }
  const relayer = { name: 'R', network: 'local', network_type: 'evm', paused: false, signer_id }
  const notification = { type: 'webhook', url: 'https://example.com/' }
  const refused: [method: string, path: string, body: object, at: string][] = [
    ['POST', 'relayers', { ...relayer, policies: { allowed_functions: [] } }, 'policies/allowed_functions'],
    ['POST', 'relayers', { ...relayer, policies: { token_limits: [] } }, 'policies/token_limits'],
    ['PATCH', `relayers/${id}`, { policies: { allowed_functions: [] } }, 'policies/allowed_functions'],
    ['PATCH', `relayers/${id}`, { policies: { token_limits: [] } }, 'policies/token_limits'],
    ['POST', 'pools', { ...pool, relayer_ids: [] }, 'relayer_ids'],
    ['POST', 'pools', { ...pool, policies: { allowed_functions: [] } }, 'policies/allowed_functions'],
    ['POST', 'pools', { ...pool, policies: { token_limits: [] } }, 'policies/token_limits'],
    ['PATCH', 'pools/p', { policies: { token_limits: [] } }, 'policies/token_limits'],
    ['POST', 'api-keys', { ...key, scopes: [] }, 'scopes'],
    ['POST', 'api-keys', { ...key, allowed_cidrs: [] }, 'allowed_cidrs'],
    ['PATCH', 'api-keys/k', { allowed_cidrs: [] }, 'allowed_cidrs'],
    ['POST', 'api-keys', { ...key, budget: {} }, 'budget/assets'],
    ['POST', 'api-keys', { ...key, budget: { max_transactions_per_hour: 5 } }, 'budget/assets'],
    ['POST', 'facilitators', { ...facilitator, assets: [] }, 'assets'],
    ['POST', 'notifications', { ...notification, filter: { events: [] } }, 'filter/events'],
    ['PATCH', 'notifications/n', { filter: { statuses: [] } }, 'filter/statuses'],
  ]
  for (const [method, place, body, at] of refused) {
    const answer = await raw(`/api/v1/${place}`, { method, body: JSON.stringify(body) })
    const { details } = (await answer.json()) as { details?: { path: string }[] }
    const title = `${method} ${place} ${JSON.stringify(body)}`
    expect.soft([answer.status, details?.[0]?.path], title).toEqual([400, `/body/${at}`])
  }
})

test('a key without a budget gets one only with the assets that it may move', async () => {
  const { client } = await startTestService()
  const { api_key } = await client.apiKeys.create({ name: 'agent', scopes: ['sign'] })
  const change = (budget: object) => outcomeOf(client.apiKeys.update(api_key.id, { budget }, { revision: '*' }))
  expect(await change({ max_transactions_per_hour: 5 })).toBe('400 /body/budget/assets')
  expect(await change({ assets: [] })).toBe('done')
  expect(await change({ max_transactions_per_hour: 5 })).toBe('done')
  expect((await client.apiKeys.get(api_key.id)).budget).toMatchObject({ assets: [], max_transactions_per_hour: 5 })
})

test('a sponsorship grants what its lists name, and without them or with empty ones nothing', async () => {
  const { client, game, calls, rpc, sponsorship, relayer } = await sponsoredRig({ delegates: [], forwarders: [] })
  const limits = { max_gas_per_call: 300_000, max_fee_per_call: '1', max_fee_per_day: '1' }
  const other = await client.sponsorships.create({ relayer_id: relayer.id, ...limits })
  expect(other.sponsorship).toMatchObject({
    ...{ targets: [], forwarders: [], delegates: [], keyed_nonce_delegates: [], origins: [] },
  })
  const send = () => outcomeOf(calls.sponsorships.sendSponsoredCall(sponsorship.id, { to: game, data: play(1) }))
  const origin = { Origin: 'https://game.example' }
  expect(await send()).toBe('done')
  expect((await rpc('relayer_getCapabilities', [], origin)).error).toBeUndefined()
  for (const targets of [[], [{ address: game, selectors: [] }]]) {
    await client.sponsorships.update(sponsorship.id, { targets, origins: [] }, { revision: '*' })
    expect(await send()).toBe('403 sponsorship/targets')
  }
  expect((await rpc('relayer_getCapabilities', [], origin)).error?.code).toBe(4100)
})
