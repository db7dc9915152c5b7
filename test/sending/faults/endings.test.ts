import type { Wallet } from 'ethers'
import { expect, test } from 'vitest'
import type { SendSponsoredCallRequest } from '../../../client/index.ts'
import type { Liar } from '../../support/fault-proxy.ts'
import { testLiar } from '../../support/liar.ts'
import type { Account, Rig } from '../../support/rig.ts'
import { deployGame, newUser, type SponsoredRig, sponsoredRig } from '../../support/sponsorship.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const receiver = `0x${'6a'.repeat(20)}`
const one = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const hourMs = 3_600_000
const firstOf = async (account: Account) => (await account.transactions())[0]
const received = async ({ chain }: Rig) => BigInt(await chain.rpc<string>('eth_getBalance', [receiver, 'latest']))

test.each([1, 3])(
  'a payment whose receipt %i nodes do not show waits for it, and never ends without it',
  async (count) => {
    const rig = await testRig({ chain: { noMining: true } })
    const nodes = await Promise.all(Array.from({ length: count }, () => testLiar(rig.chain)))
    const account = await rig.addAccount({ rpc_urls: nodes.map(({ url }) => url) })
    const [sent] = await account.send(1, { to: receiver })
    await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
    for (const node of nodes) node.lie = (method) => (method === 'eth_getTransactionReceipt' ? null : undefined)
    await rig.chain.mine()
    await until('it says why it waits', async () => (await firstOf(account))?.wait_reason === 'missing_receipt')
    const looks = () => nodes.reduce((sum, { counts }) => sum + (counts.eth_getTransactionReceipt ?? 0), 0)
    for (let hours = 0; hours < 3; hours += 1) {
      const before = looks()
      rig.clock.passed_ms += hourMs
      await rig.chain.mine()
      await until('it is looked for again', () => looks() >= before + 2 * count)
    }
    const path = { relayer_id: account.relayer_id, transaction_id: `${sent?.id}` }
    expect((await rig.client().get('/api/v1/transactions/{transaction_id}/explanation', { path })).data).toMatchObject({
      status: 'submitted',
      wait_reason: 'missing_receipt',
      suggestions: [{ summary: expect.stringContaining('rpc_urls') }],
    })
    for (const node of nodes) node.lie = undefined
    await account.finished(() => {
      rig.clock.passed_ms += 60_000
      return rig.chain.mine()
    })
    expect(await firstOf(account)).toMatchObject({ status: 'confirmed', nonce: 0, hash: expect.any(String) })
    expect(await received(rig)).toBe(BigInt(sent?.value ?? 0))
  },
)

const authorizationOf = async (signer: Wallet, address: string, nonce: number) => {
  const { signature } = await signer.authorize({ address, nonce, chainId: 31_337n })
  return { chain_id: 31_337, address, nonce, r: signature.r, s: signature.s, y_parity: signature.yParity }
}

/** EIP-7702: the code of an account that runs another contract's. */
const setDelegate = ({ rig, account_code }: SponsoredRig, address: string) =>
  rig.chain.rpc('anvil_setCode', [address, `0xef0100${account_code.slice(2)}`])

/** A call of a user that is with a node when something changes, and is mined afterwards. */
const calls: Record<
  string,
  {
    code: string
    call: (its: SponsoredRig, user: Wallet) => Promise<SendSponsoredCallRequest>
    change: (its: SponsoredRig, user: Wallet) => Promise<unknown>
  }
> = {
  'the authorization of an account is stale': {
    code: 'not_delegated',
    async call(its, user) {
      const authorizationList = [await authorizationOf(user, its.account_code, 0)]
      return { to: user.address, data: await its.accountCall(user, 1), authorization_list: authorizationList }
    },
    change: ({ rig }, user) => rig.chain.setNonce(user.address, 1),
  },
  'an account revokes its delegation': {
    code: 'not_delegated',
    async call(its, user) {
      await setDelegate(its, user.address)
      return { to: user.address, data: await its.accountCall(user, 1) }
    },
    change: ({ rig }, user) => rig.chain.rpc('anvil_setCode', [user.address, '0x']),
  },
  'a forwarder has no code any more': {
    code: 'not_forwarded',
    call: async (its, user) => ({ to: its.forwarder, data: await its.forward(user) }),
    change: ({ rig, forwarder }) => rig.chain.rpc('anvil_setCode', [forwarder, '0x']),
  },
}

/** Sends the call of a new user; resolves when a node has it. */
async function sendCall(
  its: SponsoredRig,
  call: (its: SponsoredRig, user: Wallet) => Promise<SendSponsoredCallRequest>,
) {
  const user = newUser()
  const body = await call(its, user)
  const path = { sponsorship_id: 'game' }
  const { data: sent } = await its.client.post('/api/v1/sponsorships/{sponsorship_id}/calls', { path, body })
  const get = async () =>
    (
      await its.client.get('/api/v1/sponsorships/{sponsorship_id}/calls/{call_id}', {
        path: { ...path, call_id: sent.id },
      })
    ).data
  await until('a node has it', async () => (await get()).status === 'submitted')
  const row = async () =>
    (await its.client.get(one, { path: { relayer_id: its.relayer.id, transaction_id: sent.transaction_id } })).data
  return { user, id: sent.id, get, row }
}

test.each(Object.keys(calls))('a sponsored call ends as reverted, and not as a success, when %s', async (name) => {
  const { code, call, change } = calls[name] as (typeof calls)[string]
  const its = await sponsoredRig({}, { chain: { noMining: true }, confirmations: 2 })
  const { user, id, get, row } = await sendCall(its, call)
  await change(its, user)
  await its.rig.chain.mine()
  await until('it is in a block', async () => (await row()).status === 'mined')
  const { hash } = await row()
  expect(await its.rig.chain.rpc('eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1' })
  expect(await get()).toMatchObject({ status: 'reverted' })
  await until('it is final', async () => (await row()).status !== 'mined', its.rig.chain.mine)
  expect(await row()).toMatchObject({ status: 'failed', confirmed_at: null, error: { code } })
  expect(await get()).toMatchObject({ status: 'reverted', error: { code, message: expect.any(String) } })
  expect(await its.rpc('relayer_getStatus', { id })).toMatchObject({ result: { status: 500 } })
})

test('an account call is a success by the code that most nodes show in its block, and waits while they show none', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true }, confirmations: 2, proxies: 3 })
  const { call } = calls['an account revokes its delegation'] as (typeof calls)[string]
  const { get, row } = await sendCall(its, call)
  const noState: Liar = ({ method, params = [] }) =>
    method === 'eth_getCode' && params[1] !== 'latest'
      ? { error: { code: -32_000, message: 'missing trie node' } }
      : undefined
  for (const proxy of its.rig.proxies) proxy.setLiar(noState)
  await until('it waits', async () => (await row()).wait_reason === 'awaiting_quorum', its.rig.chain.mine)
  expect(await row()).toMatchObject({
    status: 'mined',
    status_reason: expect.stringContaining('state they no longer have'),
  })
  expect(await get()).toMatchObject({ status: 'submitted' })
  // One node says that the account ran no code.
  its.rig.proxies[0]?.setLiar(({ method }) => (method === 'eth_getCode' ? { result: '0x' } : undefined))
  its.rig.proxies[1]?.setLiar(undefined)
  its.rig.proxies[2]?.setLiar(undefined)
  await until('it is final', async () => (await row()).status === 'confirmed', its.rig.chain.mine)
  expect(await get()).toMatchObject({ status: 'succeeded' })
  expect(await its.plays()).toBe(1n)
})

test.each(['stale', 'fresh'])(
  'a transaction that calls its own authority ends by its authorization, which is %s',
  async (what) => {
    const rig = await testRig({ chain: { noMining: true } })
    const account = await rig.addAccount({ policies: { allow_authorizations: true } })
    const { account_code, accountCall } = await deployGame(rig.chain, rig.chain.mine)
    const user = newUser()
    const [sent] = await account.send(1, {
      to: user.address,
      data: await accountCall(user, 1),
      gas_limit: 300_000,
      authorization_list: [await authorizationOf(user, account_code, 0)],
    })
    await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
    if (what === 'stale') await rig.chain.setNonce(user.address, 1)
    await account.finished(rig.chain.mine)
    const { status, error, value } = (await firstOf(account)) ?? {}
    expect([status, error?.code]).toEqual(what === 'stale' ? ['failed', 'not_delegated'] : ['confirmed', undefined])
    expect(value).toBe(sent?.value)
  },
)
