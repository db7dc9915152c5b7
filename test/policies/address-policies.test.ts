import { Transaction, TypedDataEncoder } from 'ethers'
import { expect, test } from 'vitest'
import { createRelayerClient, type RelayerClient, RelayerError, type RelayerPoliciesInput } from '../../client/index.ts'
import { refusalOf } from '../support/policies.ts'
import { createRelayer, createSigner } from '../support/resources.ts'
import { startTestService, type TestService } from '../support/service.ts'

const relayerPath = '/api/v1/relayers/{relayer_id}'
const domain = { name: 'Token', chainId: 1, verifyingContract: `0x${'12'.repeat(20)}` }
const separator = TypedDataEncoder.hashDomain(domain)
const permit = { domain_separator: separator, hash_struct_message: '22'.repeat(32) }

/** One key on two chains: `strict` on chain 1, `lax` on a test network. */
async function strictAndLax(service: TestService, strict: RelayerPoliciesInput, lax: RelayerPoliciesInput = {}) {
  const { client } = service
  for (const [name, chainId] of [
    ['mainnet', 1],
    ['testnet', 11_155_111],
  ] as const) {
    await client.post('/api/v1/networks', {
      body: { name, network_type: 'evm', chain_id: chainId, rpc_urls: ['http://127.0.0.1:9'] },
    })
  }
  const { id: signerId } = await createSigner(client)
  const first = await createRelayer(client, { id: 'strict', signer_id: signerId, network: 'mainnet', policies: strict })
  const second = await createRelayer(client, { id: 'lax', signer_id: signerId, network: 'testnet', policies: lax })
  return { first, second }
}

const lax = { path: { relayer_id: 'lax' } }
const signs = (client: RelayerClient) => ({
  message: () => client.post('/api/v1/relayers/{relayer_id}/sign', { ...lax, body: { message: 'Hello' } }),
  permit: () => client.post('/api/v1/relayers/{relayer_id}/sign-typed-data', { ...lax, body: permit }),
  document: () =>
    client.post('/api/v1/relayers/{relayer_id}/sign-typed-data/full', {
      ...lax,
      body: { types: { A: [] }, primaryType: 'A', message: {}, domain: { name: 'Other' } },
    }),
})

async function refusals(client: RelayerClient) {
  const acts = signs(client)
  return {
    message: await refusalOf(acts.message()),
    permit: await refusalOf(acts.permit()),
    document: await refusalOf(acts.document()),
  }
}

test.each<[RelayerPoliciesInput, RelayerPoliciesInput, Partial<Record<'message' | 'permit' | 'document', string>>]>([
  [{}, {}, {}],
  [{ allow_messages: false }, {}, { message: 'allow_messages' }],
  [{ allow_messages: false }, { allow_messages: true }, { message: 'allow_messages' }],
  [{ allow_blind_typed_data: false }, {}, { permit: 'allow_blind_typed_data' }],
  [{ allowed_domain_separators: [separator] }, {}, { document: 'allowed_domain_separators' }],
  [
    { allowed_domain_separators: [] },
    { allowed_domain_separators: [separator] },
    { document: 'allowed_domain_separators', permit: 'allowed_domain_separators' },
  ],
  [
    { token_limits: [{ asset: domain.verifyingContract, max_amount_per_transaction: '1' }] },
    {},
    { document: 'token_limits', permit: 'token_limits' },
  ],
  // Policies about transactions apply to their own chain only.
  [{ allow_sign_transaction: false, max_value: '0', whitelist_receivers: [], gas_price_cap: '1' }, {}, {}],
])('applies policies %j of one relayer to another one on the address, with %j', async (strict, own, refused) => {
  const service = await startTestService()
  await strictAndLax(service, strict, own)
  const wanted = Object.fromEntries(
    (['message', 'permit', 'document'] as const).map((name) => [name, refused[name] ? [refused[name]] : []]),
  )
  expect(await refusals(service.client)).toEqual(wanted)
})

test('applies policies of an address in every process from the change until their removal, also while the strict relayer is paused', async () => {
  const service = await startTestService()
  const other = await startTestService({ DATA_DIR: service.data_dir })
  await strictAndLax(service, {})
  const strict = { path: { relayer_id: 'strict' } }
  const both = async () => [await refusals(service.client), await refusals(other.client)]
  const none = { message: [], permit: [], document: [] }
  expect(await both()).toEqual([none, none])
  await service.client.patch(relayerPath, { ...strict, body: { policies: { allow_messages: false }, paused: true } })
  const refused = { ...none, message: ['allow_messages'] }
  expect(await both()).toEqual([refused, refused])
  await other.client.delete(relayerPath, strict)
  expect(await both()).toEqual([none, none])
})

test('applies policies of an address to another signer of the same key', async () => {
  const service = await startTestService()
  const key = `0x${'42'.repeat(32)}`
  const [one, two] = [
    await createSigner(service.client, { type: 'plain', config: { key } }),
    await createSigner(service.client, { type: 'plain', config: { key } }),
  ]
  await service.client.post('/api/v1/networks', {
    body: { name: 'mainnet', network_type: 'evm', chain_id: 1, rpc_urls: ['http://127.0.0.1:9'] },
  })
  const policies = { allow_messages: false }
  await createRelayer(service.client, { id: 'strict', signer_id: one.id, network: 'mainnet', policies })
  await createRelayer(service.client, { id: 'lax', signer_id: two.id })
  expect((await refusals(service.client)).message).toEqual(['allow_messages'])
})

test('names the strict relayer only to callers that may see it', async () => {
  const service = await startTestService()
  await strictAndLax(service, { allow_messages: false })
  const told = async (client: RelayerClient) => {
    const error = await signs(client)
      .message()
      .catch((error) => error)
    expect(error).toBeInstanceOf(RelayerError)
    return (error as RelayerError).details
  }
  const said = (name: string) => [
    {
      path: 'policies/allow_messages',
      code: 'allow_messages',
      message: `This relayer does not sign messages (policy of ${name} on the same address)`,
    },
  ]
  expect(await told(service.client)).toEqual(said('the relayer strict'))
  const { data } = await service.client.post('/api/v1/api-keys', {
    body: { name: 'limited', scopes: ['sign', 'manage', 'read'], relayer_ids: ['lax'] },
  })
  const limited = createRelayerClient({ baseUrl: service.url, token: data.token })
  expect(await told(limited)).toEqual(said('another relayer'))
  const { data: shown } = await limited.patch(relayerPath, { ...lax, body: { name: 'Lax' } })
  expect(shown.warnings).toHaveLength(1)
  expect(JSON.stringify(shown)).not.toContain('strict')
})

test('warns when a laxer or a stricter relayer on the same address is created or changed', async () => {
  const service = await startTestService()
  const { first, second } = await strictAndLax(service, {
    allow_messages: false,
    allowed_domain_separators: [separator],
  })
  const ofStrict = [
    'allow_messages of the relayer strict on the same address applies to this relayer too: This relayer does not sign messages',
    'allowed_domain_separators of the relayer strict on the same address applies to this relayer too: Typed data is signed only for domains in its allowed_domain_separators',
  ].map((message) => ({ code: 'shared_address', message }))
  expect(first.warnings).toEqual([])
  expect(second.warnings).toEqual(ofStrict)
  const { data: shown } = await service.client.get(relayerPath, lax)
  expect(shown.warnings).toEqual(ofStrict)

  const same = { policies: { allow_messages: false, allowed_domain_separators: [separator] } }
  const { data: equal } = await service.client.patch(relayerPath, { ...lax, body: same })
  expect(equal.warnings).toEqual([])
  const stricter = { policies: { allow_blind_typed_data: false } }
  const { data: changed } = await service.client.patch(relayerPath, { ...lax, body: stricter })
  expect(changed.warnings).toEqual([
    {
      code: 'shared_address',
      message:
        'allow_blind_typed_data applies to the relayer strict on the same address too: Typed data must be given in full; hashes alone are not signed',
    },
  ])
})

test('does not sign a transaction for another chain, or for none', async () => {
  const service = await startTestService()
  await strictAndLax(service, { allow_sign_transaction: false })
  const of = (given: object) =>
    Transaction.from({ to: domain.verifyingContract, gasLimit: 21_000, gasPrice: 1n, type: 0, ...given })
      .unsignedSerialized
  for (const unsignedTransaction of [of({ chainId: 1 }), of({ chainId: 0 })]) {
    const path = { relayer_id: 'lax' }
    const signed = service.client.post('/api/v1/relayers/{relayer_id}/sign-transaction', {
      path,
      body: { unsigned_transaction: unsignedTransaction },
    })
    await expect(signed).rejects.toMatchObject({ status: 400, details: [{ path: '/body/unsigned_transaction' }] })
  }
})
