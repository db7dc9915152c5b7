import { getAddress } from 'ethers'
import { expect, test } from 'vitest'
import { createSigner } from './support/resources.ts'
import { startTestService, type TestService } from './support/service.ts'

const listPath = '/api/v1/relayers'

const create = async ({ raw }: TestService, signer_id: string, policies: string) => {
  const body = `{"id":"p","name":"P","network":"local","network_type":"evm","paused":false,
    "signer_id":"${signer_id}","policies":${policies}}`
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

test('amounts are read without loss, as integers and as texts, and told as decimal strings', async () => {
  const service = await startTestService()
  const { id: signer_id } = await createSigner(service.client)
  for (const [written, read] of amounts) {
    const made = await create(service, signer_id, `{"min_balance":${written},"gas_price_cap":${written}}`)
    const { data } = (await made.json()) as { data?: { policies: unknown } }
    expect.soft(data?.policies, written).toEqual({ min_balance: read, gas_price_cap: read })
    await service.raw(`${listPath}/p`, { method: 'DELETE' })
  }
  for (const written of noAmounts) {
    const refused = await create(service, signer_id, `{"gas_price_cap":${written}}`)
    expect.soft(refused.status, written).toBe(400)
    await service.raw(`${listPath}/p`, { method: 'DELETE' })
  }
})

test('receivers are taken in any case, with their checksum when mixed, and told in lower case', async () => {
  const service = await startTestService()
  const { id: signer_id } = await createSigner(service.client)
  const lower = '0xcd2a3d9f938e13cd947ec05abc7fe734df8dd826'
  const list = (...addresses: string[]) => JSON.stringify({ whitelist_receivers: addresses })
  const upper = `0x${lower.slice(2).toUpperCase()}`
  const made = await create(service, signer_id, list(lower, upper, getAddress(lower)))
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
    const refused = await create(service, signer_id, list(lower, address))
    expect.soft(refused.status, address).toBe(400)
    expect.soft(await refused.json()).toMatchObject({ details: [{ path: '/body/policies/whitelist_receivers/1' }] })
  }
})
