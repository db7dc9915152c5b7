import { Transaction, type TransactionLike, Wallet } from 'ethers'
import { expect, test } from 'vitest'
import { decoders, type ListedTransaction } from '../../server/chain/answers.ts'
import { findByNonce, isSignedBy } from '../../server/chain/nonce-search.ts'
import { type Rpc, RpcError } from '../../server/chain/rpc.ts'

const wallet = new Wallet(`0x${'2c'.repeat(32)}`)
const owner = { chain_id: 31_337, address: wallet.address.toLowerCase() }
const to = `0x${'5a'.repeat(20)}`
const hex = (number: bigint | number) => `0x${number.toString(16)}`

const common = { chainId: owner.chain_id, nonce: 7, to, value: 10n ** 18n, data: '0xabcd', gasLimit: 50_000n }
const accessList = [{ address: to, storageKeys: [`0x${'01'.repeat(32)}`] }]
const fees = { maxFeePerGas: 100n, maxPriorityFeePerGas: 1n }
const kinds: Record<string, TransactionLike> = {
  legacy: { ...common, type: 0, gasPrice: 100n },
  'EIP-2930': { ...common, type: 1, gasPrice: 100n, accessList },
  'EIP-1559': { ...common, type: 2, ...fees, accessList },
  'EIP-4844': { ...common, type: 3, ...fees, maxFeePerBlobGas: 9n, blobVersionedHashes: [`0x01${'0e'.repeat(31)}`] },
  'a creation': { ...common, type: 2, ...fees, to: null },
}

/** As a node lists it: quantities without leading zeros. */
function listed(raw: string): ListedTransaction {
  const one = Transaction.from(raw)
  const { hash, from, type, nonce, signature, chainId, maxFeePerBlobGas, blobVersionedHashes, authorizationList } = one
  const { r = '', s = '', yParity = 0 } = signature ?? {}
  const v = type === 0 ? 35n + 2n * chainId + BigInt(yParity) : BigInt(yParity)
  return {
    hash: hash ?? '',
    from: from ?? '',
    type: hex(type ?? 0),
    chainId: hex(chainId),
    nonce: hex(nonce),
    to: one.to,
    value: hex(one.value),
    input: one.data,
    gas: hex(one.gasLimit),
    r: hex(BigInt(r)),
    s: hex(BigInt(s)),
    v: hex(v),
    gasPrice: hex(one.gasPrice ?? 0n),
    maxFeePerGas: hex(one.maxFeePerGas ?? 0n),
    maxPriorityFeePerGas: hex(one.maxPriorityFeePerGas ?? 0n),
    accessList: one.accessList ?? [],
    ...(maxFeePerBlobGas !== null && { maxFeePerBlobGas: hex(maxFeePerBlobGas) }),
    ...(blobVersionedHashes && { blobVersionedHashes }),
    ...(authorizationList && {
      authorizationList: authorizationList.map(({ address, chainId, nonce, signature }) => ({
        address,
        chainId: hex(chainId),
        nonce: hex(nonce),
        r: hex(BigInt(signature.r)),
        s: hex(BigInt(signature.s)),
        yParity: hex(signature.yParity),
      })),
    }),
  }
}

async function signed(kind: string): Promise<ListedTransaction> {
  const authorized = await wallet.authorize({ address: to, nonce: 8, chainId: owner.chain_id })
  const eip7702 = { ...common, type: 4, ...fees, authorizationList: [authorized] }
  return listed(await wallet.signTransaction(kinds[kind] ?? eip7702))
}

test.each([...Object.keys(kinds), 'EIP-7702'])('proves %s by its signed bytes, and by no others', async (kind) => {
  const one = await signed(kind)
  expect(isSignedBy(one, owner)).toBe(true)
  expect(isSignedBy(one, { ...owner, chain_id: 1 })).toBe(false)
  expect(isSignedBy(one, { ...owner, address: to })).toBe(false)
  const lies: Partial<ListedTransaction>[] = [
    { hash: `0x${'ab'.repeat(32)}` },
    { nonce: '0x8' },
    { value: '0x1' },
    { input: '0x' },
    { to: `0x${'5b'.repeat(20)}` },
    { r: '0x1' },
    { r: 'nonsense' },
    { type: '0x7e' },
  ]
  for (const lie of lies) expect([lie, isSignedBy({ ...one, ...lie }, owner)]).toEqual([lie, false])
})

test('does not accept a signature that is valid on every chain as proof', async () => {
  const one = listed(await wallet.signTransaction({ ...common, chainId: 0, type: 0, gasPrice: 1n }))
  expect(isSignedBy({ ...one, v: '0x1b' }, owner)).toBe(false)
  expect(isSignedBy({ ...one, v: '0x1c' }, owner)).toBe(false)
})

/** A chain whose node has the state of its last `states` blocks only, and in which block `at` used nonce 7. */
async function search(head: number, at: number, states: number) {
  const one = await signed('EIP-1559')
  let calls = 0
  const rpc: Rpc = async (method, [number, isFull]) => {
    calls += 1
    expect([method, isFull]).toEqual(['eth_getBlockByNumber', true])
    const hash = `0x${Number(number).toString(16).padStart(64, '0')}`
    const transactions = Number(number) === at ? [one] : []
    return decoders.eth_getBlockByNumber({ number, hash, parentHash: hash, transactions }, [])
  }
  const nonceAt = async (_: string, block: string) => {
    calls += 1
    if (Number(block) <= head - states) throw new RpcError({ code: -32_000, message: 'missing trie node' })
    return Number(block) >= at ? 8 : 7
  }
  const found = await findByNonce({ rpc, nonceAt }, owner, 7, head)
  return { found: found?.block_number, calls }
}

test.each([
  ['in the newest block', 20_000_000, 20_000_000, 128],
  ['a block before', 20_000_000, 19_999_999, 128],
  ['in the oldest block whose state the node has', 20_000_000, 19_999_873, 128],
  ['half the height ago, with all states', 20_000_000, 10_000_000, 30_000_000],
  ['in the first block', 1_000, 0, 2_000],
])('finds the rival transaction %s', async (_, head, at, states) => {
  const { found, calls } = await search(head, at, states)
  expect(found).toBe(at)
  expect(calls).toBeLessThan(60)
})

test('finds nothing outside the node’s state, in a bounded number of calls', async () => {
  const { found, calls } = await search(20_000_000, 19_000_000, 128)
  expect(found).toBeUndefined()
  expect(calls).toBeLessThan(60)
})
