import { expect, test } from 'vitest'
import { hashesOf, rawOf, spike } from '../../support/fee-spike.ts'
import { type Answer, jsonRpcOf } from '../../support/json-rpc.ts'
import { rowsOf, zeroBytes } from '../../support/service-database.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const to = `0x${'5a'.repeat(20)}`
const gwei = 10n ** 9n
const hex = (number: number | bigint) => `0x${number.toString(16)}`

async function start() {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  const rpc = jsonRpcOf(rig.url(), rig.api_key, account.relayer_id)
  const send = (transaction = {}) => rpc.result('eth_sendTransaction', [{ to, value: '0x1', ...transaction }])
  const byHash = (hash: string) => rpc.result<Answer>('eth_getTransactionByHash', [hash])
  const receipt = (hash: string) => rpc.result<Answer>('eth_getTransactionReceipt', [hash])
  const isWithNode = (hash: string) =>
    until('a node has it', async () => (await rig.chain.rpc('eth_getTransactionByHash', [hash])) !== null)
  return { ...rig, rig, account, rpc, send, byHash, receipt, isWithNode }
}

test('resolves every hash of a repriced transaction to the mined version', async () => {
  const { rig, chain, account, send, byHash, receipt, isWithNode } = await start()
  const first = await send()
  await isWithNode(first)
  await spike(rig, 0)
  // The node has replaced the first bytes, and knows nothing of their hash any more.
  expect(await chain.rpc('eth_getTransactionByHash', [first])).toBe(null)
  expect(await byHash(first)).toMatchObject({
    hash: first,
    blockNumber: null,
    from: account.address,
    nonce: '0x0',
    value: '0x1',
  })
  expect(await receipt(first)).toBe(null)
  await account.finished(chain.mine)
  const mined = (await account.transactions())[0]?.hash as string
  expect(await hashesOf(rig, 0)).toContain(mined)
  expect(mined).not.toBe(first)
  for (const hash of await hashesOf(rig, 0)) {
    expect(await receipt(hash)).toMatchObject({ status: '0x1', transactionHash: mined })
    expect(await byHash(hash)).toMatchObject({ hash: mined, blockNumber: expect.stringMatching(/^0x/) })
  }
})

test('shows a transaction in a node’s form before any node has it', async () => {
  const { rig, proxy, chain, send, byHash, isWithNode } = await start()
  await proxy.setFault({ kind: 'accepted_and_forgotten' })
  const accessList = [{ address: to, storageKeys: [`0x${'00'.repeat(32)}`] }]
  const hashes = [
    await send(),
    await send({ gasPrice: hex(5n * gwei), value: '0x2', data: '0x1234' }),
    await send({ accessList }),
  ]
  const own = await Promise.all(hashes.map(byHash))
  expect(own).toMatchObject(hashes.map((hash) => ({ hash, blockHash: null })))
  for (const hash of hashes) await chain.rpc('eth_sendRawTransaction', [await rawOf(rig, hash)])
  for (const [index, hash] of hashes.entries()) {
    await isWithNode(hash)
    // Nodes differ in this member of a transaction that is in no block.
    const { gasPrice: _, ...pending } = await chain.rpc<Answer>('eth_getTransactionByHash', [hash])
    expect(own[index]).toMatchObject(pending)
  }
})

test('parses no stored bytes to resolve a hash', async () => {
  const { rig, proxy, send, byHash, receipt } = await start()
  await proxy.setFault({ kind: 'accepted_and_forgotten' })
  const hash = await send({ value: '0x2', data: '0x1234' })
  const before = await byHash(hash)
  await rowsOf(rig, `UPDATE attempts SET raw = ${zeroBytes(1)}`)
  expect(await byHash(hash)).toEqual(before)
  expect(before).toMatchObject({ hash, value: '0x2', input: '0x1234' })
  expect(await receipt(hash)).toBe(null)
})

test('returns no receipt for the hash of a transaction that another content replaced, and null once its nonce is used', async () => {
  const { rig, chain, client, account, send, byHash, receipt, isWithNode } = await start()
  const first = await send()
  await isWithNode(first)
  const [row] = await account.transactions()
  const path = { relayer_id: account.relayer_id, transaction_id: row?.id ?? '' }
  await client().put('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', { path, body: { to, value: '2' } })
  await until('the replacement is signed', async () => (await hashesOf(rig, 0)).length > 1)
  await isWithNode((await hashesOf(rig, 0))[1] as string)
  await account.finished(chain.mine)
  const [mined] = await account.transactions()
  expect(mined).toMatchObject({ status: 'confirmed', value: '2' })
  expect(await receipt(mined?.hash ?? '')).toMatchObject({ status: '0x1' })
  expect(await receipt(first)).toBe(null)
  expect(await byHash(first)).toBe(null)
})

test('returns no receipt for a canceled transaction, although its nonce was mined', async () => {
  const { rig, chain, account, send, byHash, receipt, isWithNode } = await start()
  const first = await send()
  await isWithNode(first)
  await account.cancel((await account.transactions())[0]?.id ?? '')
  await until('the cancellation is signed', async () => (await hashesOf(rig, 0)).length > 1)
  await isWithNode((await hashesOf(rig, 0))[1] as string)
  await account.finished(chain.mine)
  expect(await account.transactions()).toMatchObject([{ status: 'canceled' }])
  expect(await receipt(first)).toBe(null)
  expect(await byHash(first)).toBe(null)
})
