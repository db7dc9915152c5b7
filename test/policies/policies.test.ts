import { getAddress } from 'ethers'
import { expect, test } from 'vitest'
import type { Relayer } from '../../client/index.ts'
import { createSigner } from '../support/resources.ts'
import { startTestService, type TestService } from '../support/service.ts'

const listPath = '/api/v1/relayers'

const create = async ({ raw }: TestService, signerId: string, policies: string) => {
  const body = `{"id":"p","name":"P","network":"local","network_type":"evm","paused":false,
    "signer_id":"${signerId}","policies":${policies}}`
  return raw(listPath, { method: 'POST', body })
}

const greatest = (2n ** 256n - 1n).toString()
const amounts = [
  ['0', '0'],
  ['1', '1'],
  ['"0"', '0'],
  ['"007"', '7'],
  ['9007199254740991', '9007199254740991'],
  ['9007199254740993', '9007199254740993'],
  ['"9007199254740993"', '9007199254740993'],
  ['10000000000000000000001', '10000000000000000000001'],
  [greatest, greatest],
  [`"${greatest}"`, greatest],
] as const

const noAmounts = [
  ...['-1', '-9007199254740993', '1.5', '1e30', '1e400', 'true', '[]', '{}', 'null', '""', '" 1"', '"1 "', '"+1"'],
  ...['"-1"', '"1e3"', '"0x10"', '"1.0"', '"1_000"', '"١"', '9007199254740993.5'],
  ...[`${2n ** 256n}`, `"${2n ** 256n}"`, '9'.repeat(79), `"${'9'.repeat(79)}"`],
]

test('reads amounts without loss, as integers and as strings, and shows decimal strings', async () => {
  const service = await startTestService()
  const { id: signerId } = await createSigner(service.client)
  for (const [written, read] of amounts) {
    const made = await create(service, signerId, `{"min_balance":${written},"gas_price_cap":${written}}`)
    const { data } = (await made.json()) as { data?: { policies: unknown } }
    expect.soft(data?.policies, written).toEqual({ min_balance: read, gas_price_cap: read })
    await service.raw(`${listPath}/p`, { method: 'DELETE' })
  }
  for (const written of noAmounts) {
    const refused = await create(service, signerId, `{"gas_price_cap":${written}}`)
    expect.soft(refused.status, written).toBe(400)
    await service.raw(`${listPath}/p`, { method: 'DELETE' })
  }
})

test('accepts receivers in any case, checks the checksum of mixed case, and shows lower case', async () => {
  const service = await startTestService()
  const { id: signerId } = await createSigner(service.client)
  const lower = '0xcd2a3d9f938e13cd947ec05abc7fe734df8dd826'
  const list = (...addresses: string[]) => JSON.stringify({ whitelist_receivers: addresses })
  const upper = `0x${lower.slice(2).toUpperCase()}`
  const made = await create(service, signerId, list(lower, upper, getAddress(lower)))
  expect(await made.json()).toMatchObject({ data: { policies: { whitelist_receivers: [lower, lower, lower] } } })
  await service.raw(`${listPath}/p`, { method: 'DELETE' })
  const wrong = [
    getAddress(lower).replace('D', 'd'),
    lower.slice(2),
    lower.slice(0, -1),
    `${lower}0`,
    '',
    'vitalik.eth',
  ]
  for (const address of wrong) {
    const refused = await create(service, signerId, list(lower, address))
    expect.soft(refused.status, address).toBe(400)
    expect.soft(await refused.json()).toMatchObject({ details: [{ path: '/body/policies/whitelist_receivers/1' }] })
  }
})

const separator = 'AB'.repeat(32)
const address = `0x${'12'.repeat(20)}`
const read: [given: object, told: object][] = [
  [
    { max_value: 7, max_value_per_day: '007' },
    { max_value: '7', max_value_per_day: '7' },
  ],
  [{ allow_messages: false, allow_blind_typed_data: true, allow_sign_transaction: false }, {}],
  [
    { allowed_functions: [{ address: getAddress(address), selectors: ['0xA9059CBB', '0x'] }] },
    { allowed_functions: [{ address, selectors: ['0xa9059cbb', '0x'] }] },
  ],
  [
    { token_limits: [{ asset: getAddress(address), max_amount_per_transaction: 10, max_amount_per_day: '20' }] },
    {
      token_limits: [
        { asset: address, max_amount_per_transaction: '10', max_amount_per_day: '20', allow_signatures: false },
      ],
    },
  ],
  [
    { token_limits: [{ asset: address, max_amount_per_transaction: null }] },
    {
      token_limits: [
        { asset: address, max_amount_per_transaction: null, max_amount_per_day: null, allow_signatures: false },
      ],
    },
  ],
  [{ allowed_domain_separators: [separator] }, { allowed_domain_separators: [`0x${separator.toLowerCase()}`] }],
]
const twice = { address, selectors: [] }
const unreadable: [policies: object, path: string][] = [
  [{ allowed_functions: [{ address }] }, 'allowed_functions/0/selectors'],
  [{ allowed_functions: [{ address, selectors: ['0xa9059c'] }] }, 'allowed_functions/0/selectors/0'],
  [{ allowed_functions: [{ address, selectors: ['transfer(address,uint256)'] }] }, 'allowed_functions/0/selectors/0'],
  [{ allowed_functions: [twice, { ...twice, address: getAddress(address) }] }, 'allowed_functions/1/address'],
  [{ token_limits: [{ max_amount_per_transaction: 1 }] }, 'token_limits/0/asset'],
  [{ token_limits: [{ asset: address, max_amount_per_transaction: -1 }] }, 'token_limits/0/max_amount_per_transaction'],
  [{ token_limits: [{ asset: address, max_amount_per_day: `${2n ** 256n}` }] }, 'token_limits/0/max_amount_per_day'],
  [{ token_limits: [{ asset: address }, { asset: address }] }, 'token_limits/1/asset'],
  [{ max_value_per_day: 1.5 }, 'max_value_per_day'],
  [{ allow_messages: 'false' }, 'allow_messages'],
  [{ allowed_domain_separators: ['0x12'] }, 'allowed_domain_separators/0'],
]

test('shows limits and lists in one form, merges them one by one, and refuses invalid ones', async () => {
  const { client, raw } = await startTestService()
  const path = { relayer_id: 'demo' }
  const patch = async (policies: object | null) => {
    const answer = await raw(`${listPath}/demo`, { method: 'PATCH', body: JSON.stringify({ policies }) })
    const { data, details = [] } = (await answer.json()) as { data: Relayer; details?: { path: string }[] }
    return { policies: data?.policies, paths: details.map(({ path }) => path) }
  }
  for (const [given, told] of read) {
    await patch(null)
    expect.soft((await patch(given)).policies).toEqual({ ...given, ...told })
  }
  for (const [policies, place] of unreadable) {
    expect.soft((await patch(policies)).paths, place).toContain(`/body/policies/${place}`)
  }
  await patch(null)
  await patch({ max_value: 1, token_limits: [{ asset: address }], allow_messages: false })
  const others = { allowed_delegates: [], allow_messages: null, max_value_per_day: 2 }
  const merged = await patch({ max_value: null, token_limits: null, ...others })
  expect(merged.policies).toEqual({ allowed_delegates: [], max_value_per_day: '2' })
  expect((await client.get('/api/v1/relayers/{relayer_id}', { path })).data.policies).toEqual(merged.policies)
})
