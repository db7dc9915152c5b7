import { hashAuthorization, recoverAddress, Wallet } from 'ethers'
import { expect, test } from 'vitest'
import type { AccessList, RelayerPoliciesInput, Transaction } from '../../client/index.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const base = '/api/v1/relayers/{relayer_id}'
const listed: AccessList = [
  { address: `0x${'ab'.repeat(20)}`, storage_keys: [`0x${'0f'.repeat(32)}`, `0x${'10'.repeat(32)}`] },
  { address: `0x${'cd'.repeat(20)}`, storage_keys: [] },
]
const onChain = listed.map(({ address, storage_keys }) => ({ address, storageKeys: storage_keys }))

interface Mined {
  type: string
  accessList?: unknown
  authorizationList?: unknown[]
}

const start = async (policies = {}) => {
  const rig = await testRig({ chain: { noMining: true, args: ['--hardfork', 'prague'] } })
  const account = await rig.addAccount({ policies })
  return {
    ...rig,
    ...account,
    mined: ({ hash }: Transaction) => rig.chain.rpc<Mined>('eth_getTransactionByHash', [hash]),
  }
}

test('signs an access list in its transaction type, counts it in the gas estimate, and keeps it at a higher price', async () => {
  const { send, chain, transactions, finished, mined, client, relayer_id } = await start()
  await send(1, { access_list: listed })
  await send(1, { access_list: listed, gas_price: '5000000000' })
  await send(1, { access_list: [], gas_price: '5000000000' })
  const [kept] = await send(1, { access_list: listed })
  await until('a node has it', async () => (await transactions())[0]?.status === 'submitted')
  const plain = { to: kept?.to ?? null, value: '99' }
  await client().put(`${base}/transactions/{transaction_id}`, {
    path: { relayer_id, transaction_id: kept?.id as string },
    body: plain,
  })
  const attempts = async () => {
    const path = { relayer_id, transaction_id: kept?.id as string }
    return (await client().get(`${base}/transactions/{transaction_id}/attempts`, { path })).data
  }
  await until('a node has the replacement', async () => (await attempts())[1]?.accepted_at != null)
  await finished(chain.mine)
  const rows = (await transactions()).reverse()
  expect(rows.map(({ status, access_list }) => [status, access_list])).toEqual([
    ['confirmed', listed],
    ['confirmed', listed],
    ['confirmed', []],
    // A replacement is a separate transaction.
    ['confirmed', null],
  ])
  const types = await Promise.all(rows.map(mined))
  expect(types.map(({ type, accessList }) => [type, accessList])).toEqual([
    ['0x2', onChain],
    ['0x1', onChain],
    ['0x1', []],
    ['0x2', []],
  ])
  // EIP-2930: 2,400 gas an address, 1,900 a storage key.
  expect(rows[0]?.receipt?.gas_used).toBe(21_000 + 2 * 2_400 + 2 * 1_900)
  expect(rows[0]?.gas_limit).toBeGreaterThanOrEqual(29_600)
})

test('rejects a gas limit below the cost of the access list, and too many keys', async () => {
  const { send } = await start()
  await expect(send(1, { access_list: listed, gas_limit: 29_599 })).rejects.toMatchObject({
    status: 422,
    code: 'gas_limit_too_low',
    details: [{ path: '/body/gas_limit', message: expect.stringContaining('must be at least 29600: ') }],
  })
  const storageKeys = Array.from({ length: 101 }, (_, index) => `0x${String(index).padStart(64, '0')}` as const)
  const many = [listed[0], listed[1]].map((entry) => ({ address: entry?.address ?? '0x', storage_keys: storageKeys }))
  await expect(send(1, { access_list: many })).rejects.toMatchObject({
    status: 400,
    details: [{ path: '/body/access_list' }],
  })
})

test('rejects blob transactions with an explanation, in sending and in signing', async () => {
  const { send, client, relayer_id } = await start()
  await expect(send(1, { type: 3 as 2 })).rejects.toMatchObject({
    status: 400,
    details: [{ path: '/body/type', message: expect.stringContaining('0, 1, 2, 4') }],
  })
  const signed = client().post(`${base}/sign-transaction`, {
    path: { relayer_id },
    body: { unsigned_transaction: '0x03c0' },
  })
  await expect(signed).rejects.toMatchObject({
    status: 400,
    details: [{ message: expect.stringContaining('EIP-4844') }],
  })
})

test('refuses everything of EIP-7702 without the policy allow_authorizations', async () => {
  const { client } = await startTestService()
  const path = { relayer_id: 'demo' }
  const refused = { status: 403, details: [{ path: 'policies/allow_authorizations' }] }
  const authorize = () =>
    client.post(`${base}/sign-authorization`, { path, body: { address: `0x${'12'.repeat(20)}`, nonce: 0 } })
  await expect(authorize()).rejects.toMatchObject(refused)
  await client.patch(base, { path, body: { policies: { allow_authorizations: false } } })
  await expect(authorize()).rejects.toMatchObject(refused)
  const r = `0x${'01'.repeat(32)}`
  const authorization = { chain_id: 0, address: `0x${'12'.repeat(20)}`, nonce: 0, r, s: r, y_parity: 0 }
  const body = { to: `0x${'12'.repeat(20)}`, value: '1', authorization_list: [authorization] }
  await expect(client.post(`${base}/transactions`, { path, body })).rejects.toMatchObject(refused)
})

test('signs an authorization with one relayer and sends it with another, and the chain runs the code', async () => {
  const { send, chain, transactions, finished, mined, addAccount, client } = await start({ allow_authorizations: true })
  const authority = await addAccount({ policies: { allow_authorizations: true } })
  const code = `0x${'c0'.repeat(20)}`
  const sign = (relayerId: string, body: { address: string; nonce: number }) =>
    client().post(`${base}/sign-authorization`, { path: { relayer_id: relayerId }, body })
  const { data: authorization } = await sign(authority.relayer_id, { address: code, nonce: 0 })
  const { r, s, y_parity } = authorization
  expect(authorization).toMatchObject({ chain_id: 31_337, address: code, nonce: 0 })
  const digest = hashAuthorization({ chainId: 31_337, address: code, nonce: 0 })
  expect(recoverAddress(digest, { r, s, yParity: y_parity === 1 ? 1 : 0 }).toLowerCase()).toBe(authority.address)

  await send(1, { to: authority.address, authorization_list: [authorization] })
  await finished(chain.mine)
  const [row] = (await transactions()) as [Transaction]
  expect(row).toMatchObject({ status: 'confirmed', authorization_list: [authorization] })
  expect(await mined(row)).toMatchObject({ type: '0x4', authorizationList: [{ address: code }] })
  // EIP-7702: the code of a delegated account is 0xef0100 and the address.
  expect(await chain.rpc('eth_getCode', [authority.address, 'latest'])).toBe(`0xef0100${code.slice(2)}`)
})

test('rejects authorizations that the chain would skip, or that would use a nonce', async () => {
  const { send, client, relayer_id } = await start({ allow_authorizations: true })
  const address = `0x${'c0'.repeat(20)}`
  const { data: own } = await client().post(`${base}/sign-authorization`, {
    path: { relayer_id },
    body: { address, nonce: 1 },
  })
  const list = (authorization: typeof own, body = {}) => send(1, { authorization_list: [authorization], ...body })
  const fault = (path: string) => ({ status: 400, details: [{ path }] })
  await expect(list(own)).rejects.toMatchObject(fault('/body/authorization_list/0'))
  await expect(list({ ...own, chain_id: 5 })).rejects.toMatchObject(fault('/body/authorization_list/0/chain_id'))
  const unsigned = { ...own, r: `0x${'00'.repeat(32)}` as const }
  await expect(list(unsigned)).rejects.toMatchObject(fault('/body/authorization_list/0'))
  const wallet = new Wallet(`0x${'07'.repeat(32)}`)
  const other = wallet.authorizeSync({ address, nonce: 0, chainId: 0 })
  const theirs = {
    chain_id: 0,
    address,
    nonce: 0,
    r: other.signature.r as `0x${string}`,
    s: other.signature.s as `0x${string}`,
    y_parity: other.signature.yParity,
  } as typeof own
  const priced = fault('/body/authorization_list')
  await expect(list(theirs, { gas_price: '5000000000' })).rejects.toMatchObject(priced)
  await expect(list(theirs, { to: null, data: '0x00' })).rejects.toMatchObject(fault('/body/to'))
})

test('limits by whitelist_receivers the contracts that an account is delegated to, and allows the zero address', async () => {
  const { client } = await startTestService()
  const listedContract = `0x${'12'.repeat(20)}`
  const policies = { allow_authorizations: true, whitelist_receivers: [listedContract] }
  const { id: relayerId } = await createRelayer(client, { policies })
  const sign = (address: string) =>
    client.post(`${base}/sign-authorization`, { path: { relayer_id: relayerId }, body: { address, nonce: 0 } })
  expect((await sign(listedContract)).data.address).toBe(listedContract)
  expect((await sign(`0x${'00'.repeat(20)}`)).data.address).toBe(`0x${'00'.repeat(20)}`)
  await expect(sign(`0x${'13'.repeat(20)}`)).rejects.toMatchObject({
    status: 403,
    details: [{ path: 'policies/whitelist_receivers' }],
  })
})

test.each<[string, RelayerPoliciesInput]>([
  ['max_value', { max_value: '5' }],
  ['max_value_per_day', { max_value_per_day: '5' }],
  ['token_limits', { token_limits: [{ asset: `0x${'56'.repeat(20)}`, max_amount_per_transaction: '7' }] }],
  ['allowed_functions', { allowed_functions: [{ address: `0x${'56'.repeat(20)}`, selectors: [] }] }],
])('signs an authorization only for a listed contract where %s holds', async (limit, policies) => {
  const { client } = await startTestService()
  const [code, other] = [`0x${'12'.repeat(20)}`, `0x${'13'.repeat(20)}`]
  const { id: relayerId } = await createRelayer(client, { policies: { allow_authorizations: true, ...policies } })
  const path = { relayer_id: relayerId }
  const outcomeOf = (address: string) =>
    client.post(`${base}/sign-authorization`, { path, body: { address, nonce: 0 } }).then(
      () => 'signed',
      ({ details }) => `${details[0].path}: ${details[0].message}`,
    )
  expect(await outcomeOf(code)).toContain(`policies/allowed_delegates: The code of ${code} would not keep ${limit}`)
  expect(await outcomeOf(`0x${'00'.repeat(20)}`)).toBe('signed')
  await client.patch(base, { path, body: { policies: { whitelist_receivers: [code] } } })
  expect(await outcomeOf(code)).toBe('signed')
  await client.patch(base, { path, body: { policies: { allowed_delegates: [other] } } })
  expect(await outcomeOf(other)).toBe('signed')
  expect(await outcomeOf(code)).toBe(`policies/allowed_delegates: The contract ${code} is not in allowed_delegates`)
})
