import { expect, test } from 'vitest'
import { type Lie, testLiar } from '../../support/liar.ts'
import type { Account, Rig } from '../../support/rig.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const firstOf = async (account: Account) => (await account.transactions())[0]
const pass = (rig: Rig) => async () => {
  rig.clock.passed_ms += 5_000
  await rig.chain.mine()
}

/** A relayer behind one node, with a transaction that the node has. */
async function stage() {
  const rig = await testRig({ chain: { noMining: true } })
  const node = await testLiar(rig.chain)
  const account = await rig.addAccount({ rpc_urls: [node.url] })
  await account.send(1)
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  return { rig, node, account }
}

type Respell = (quantity: string) => unknown
const respellings: Record<string, Respell> = {
  'as JSON numbers': (quantity) => (Number.isSafeInteger(Number(quantity)) ? Number(quantity) : quantity),
  padded: (quantity) => `0x${quantity.slice(2).padStart(32, '0')}`,
  'in capital letters': (quantity) => quantity.toUpperCase(),
  'as decimal digits': (quantity) => `${BigInt(quantity)}`,
}

/** Every quantity of an answer, written in another way. Hashes, addresses and bytes stay. */
const respelled = (value: unknown, respell: Respell): unknown => {
  if (typeof value === 'string') return /^0x[0-9a-f]{1,31}$/.test(value) ? respell(value) : value
  if (Array.isArray(value)) return value.map((one) => respelled(one, respell))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, respelled(one, respell)]))
}

test.each(Object.entries(respellings))(
  'sends and confirms where a node writes all quantities %s',
  async (_, respell) => {
    const rig = await testRig({ chain: { noMining: true } })
    const node = await testLiar(rig.chain)
    node.lie = async (method, _params, truth) =>
      method === 'eth_call' || method === 'eth_getCode' ? undefined : respelled(await truth(), respell)
    const account = await rig.addAccount({ rpc_urls: [node.url] })
    await account.send(3)
    await account.finished(pass(rig))
    expect((await account.transactions()).map(({ status }) => status)).toEqual(['confirmed', 'confirmed', 'confirmed'])
  },
)

const withStatus =
  (status: unknown): Lie =>
  async (method, _params, truth) => {
    const receipt = (await truth()) as object | null
    return method === 'eth_getTransactionReceipt' && receipt ? { ...receipt, status } : receipt
  }

test.each<[unknown, string]>([
  ['0x0', 'failed'],
  ['0x00', 'failed'],
  [0, 'failed'],
  [false, 'failed'],
  ['0x01', 'confirmed'],
  [1, 'confirmed'],
  [true, 'confirmed'],
])('a receipt whose status is %j ends its transaction as %s', async (status, end) => {
  const { rig, node, account } = await stage()
  node.lie = withStatus(status)
  await account.finished(pass(rig))
  expect(await firstOf(account)).toMatchObject({ status: end })
})

test.each([[undefined], [null], [''], ['0x'], ['0x2'], ['success'], [{}]])(
  'a receipt whose status is %j proves nothing, and the operator is told',
  async (status) => {
    const { rig, node, account } = await stage()
    let shown = 0
    const lie = withStatus(status)
    node.lie = async (...call) => {
      if (call[0] === 'eth_getTransactionReceipt') shown += 1
      return lie(...call)
    }
    await until('it was shown', () => shown > 4, pass(rig))
    expect(await firstOf(account)).toMatchObject({ status: 'submitted', receipt: null })
    expect(rig.logged().join('')).toContain('the answer to eth_getTransactionReceipt is malformed: status is')
    node.lie = undefined
    await account.finished(pass(rig))
    expect(await firstOf(account)).toMatchObject({ status: 'confirmed' })
  },
)

test.each([
  ['transaction indexing is in progress', -32_000],
  ['Tx 0xabc not found', -32_000],
  ['could not decode the receipt', -32_603],
  ['resource not found', -32_001],
])('an error about the hash of a replaced attempt (%s) is about that hash only', async (message, code) => {
  const { rig, node, account } = await stage()
  const [{ id = '', hash: replaced } = {}] = await account.transactions()
  const path = { relayer_id: account.relayer_id, transaction_id: id }
  await rig.client().put('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
    path,
    body: { to: account.address, value: '2', speed: 'fastest' },
  })
  await until(
    'the node has the newer attempt',
    async () => {
      const row = await firstOf(account)
      return row?.hash !== replaced && (await rig.chain.rpc('eth_getTransactionByHash', [row?.hash])) !== null
    },
    () => {
      rig.clock.passed_ms += 1_000
    },
  )
  node.lie = (method, [hash]) =>
    method === 'eth_getTransactionReceipt' && hash === replaced
      ? Object.assign(new Error(message), { code })
      : undefined
  await rig.chain.mine()
  await account.send(1)
  await account.finished(pass(rig))
  expect((await account.transactions()).map(({ status }) => status)).toEqual(['confirmed', 'confirmed'])
})
