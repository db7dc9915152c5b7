import { TypedDataEncoder } from 'ethers'
import { expect, test } from 'vitest'
import type { RelayerPoliciesInput } from '../../client/index.ts'
import { refusalOf, unsigned } from '../support/policies.ts'
import { startTestService } from '../support/service.ts'

const relayerPath = '/api/v1/relayers/{relayer_id}'
const limited = { token_limits: [{ asset: `0x${'56'.repeat(20)}`, max_amount_per_transaction: '7' }] }

test('allows messages, hashes, documents and transactions separately, and domains by separator', async () => {
  const { client } = await startTestService()
  const path = { relayer_id: 'demo' }
  const [own, foreign] = ['own', 'foreign'].map((name) => TypedDataEncoder.hashDomain({ name })) as [string, string]
  const hashStructMessage = `0x${'00'.repeat(32)}`
  const document = { types: { A: [] }, primaryType: 'A', message: {} }
  const acts: Record<string, () => Promise<unknown>> = {
    message: () => client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: '' } }),
    ...Object.fromEntries(
      Object.entries({ own, foreign }).flatMap(([name, domainSeparator]) => [
        [
          `hashes of ${name}`,
          () =>
            client.post('/api/v1/relayers/{relayer_id}/sign-typed-data', {
              path,
              body: { domain_separator: domainSeparator, hash_struct_message: hashStructMessage },
            }),
        ],
        [
          `document of ${name}`,
          () =>
            client.post('/api/v1/relayers/{relayer_id}/sign-typed-data/full', {
              path,
              body: { ...document, domain: { name } },
            }),
        ],
      ]),
    ),
    transaction: () =>
      client.post('/api/v1/relayers/{relayer_id}/sign-transaction', {
        path,
        body: { unsigned_transaction: unsigned({}) },
      }),
  }
  const typed = ['hashes of own', 'document of own', 'hashes of foreign', 'document of foreign']
  const allowed = { allowed_domain_separators: [own] }
  const by = (rule: string, ...names: string[]) => Object.fromEntries(names.map((name) => [name, [rule]]))
  const table: [RelayerPoliciesInput, Record<string, string[]>][] = [
    [{}, {}],
    [{ allow_messages: true, allow_blind_typed_data: true, allow_sign_transaction: true }, {}],
    [{ allow_messages: false }, by('allow_messages', 'message')],
    [{ allow_blind_typed_data: false }, by('allow_blind_typed_data', 'hashes of own', 'hashes of foreign')],
    [{ allow_sign_transaction: false }, by('allow_sign_transaction', 'transaction')],
    [allowed, by('allowed_domain_separators', 'hashes of foreign', 'document of foreign')],
    [{ allowed_domain_separators: [] }, by('allowed_domain_separators', ...typed)],
    [
      { ...allowed, allow_blind_typed_data: false },
      {
        ...by('allow_blind_typed_data', 'hashes of own', 'hashes of foreign'),
        ...by('allowed_domain_separators', 'document of foreign'),
      },
    ],
    [limited, by('token_limits', ...typed)],
    [{ ...limited, ...allowed }, by('allowed_domain_separators', 'hashes of foreign', 'document of foreign')],
  ]
  for (const [policies, refused] of table) {
    await client.patch(relayerPath, { path, body: { policies: null } })
    await client.patch(relayerPath, { path, body: { policies } })
    for (const [name, act] of Object.entries(acts)) {
      expect.soft(await refusalOf(act()), `${JSON.stringify(policies)}: ${name}`).toEqual(refused[name] ?? [])
    }
  }
})
