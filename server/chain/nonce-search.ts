import { type Input, RLP } from '@ethereumjs/rlp'
import { readSigned, type SignedContent } from '../domain/decoding/transaction.ts'
import { keccak256, toHex } from '../domain/encoding/digest.ts'
import { fromHex } from '../domain/encoding/envelope.ts'
import { decodeTransaction, type ListedTransaction } from './answers.ts'
import type { Chain } from './chain.ts'
import { call, orAbsent, type Rpc, RpcError } from './rpc.ts'

/** A transaction of an account that a block contains, proven by its own signed bytes. */
export interface SignedTransaction {
  hash: string
  block_number: number
  block_hash: string
  nonce: number
  content: SignedContent
}

interface Owner {
  chain_id: number
  address: string
}

/** The growth of the steps backwards: 20 steps exceed any chain's height. */
const growth = 4
/** Only one candidate can be genuine. A false block may list thousands, and checking a signature takes a millisecond. */
const maxCandidates = 4

/**
 * Searches the block in which an account used a nonce, from the head backwards in growing steps, and answers with the transaction
 * when its signed fields prove it. A node without the state of an old block ("missing trie node", "pruned") limits the search to
 * the blocks whose state it has. Undefined: not found, or not proven. About 2 log2(age in blocks) calls. Throws RpcUnavailable.
 */
export async function findByNonce(
  chain: Pick<Chain, 'rpc' | 'nonceAt'>,
  owner: Owner,
  nonce: number,
  head: number,
): Promise<SignedTransaction | undefined> {
  /** Undefined when the node does not have the state of that block. */
  const isUsedAt = (block: number) =>
    chain.nonceAt(owner.address, hex(block)).then(
      (count) => count > nonce,
      (error) => {
        if (error instanceof RpcError) return undefined
        throw error
      },
    )

  let high = head
  if ((await isUsedAt(high)) !== true) return undefined
  let low = -1
  for (let step = 1; high > 0; step *= growth) {
    const block = Math.max(0, head - step)
    if ((await isUsedAt(block)) !== true) {
      low = block
      break
    }
    high = block
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if ((await isUsedAt(middle)) === true) high = middle
    else low = middle
  }

  const block = await readBlock(chain.rpc, high)
  if (!block?.transactions) return undefined
  const listed = block.transactions
    .filter((one) => Number(one.nonce) === nonce && one.from === owner.address)
    .slice(0, maxCandidates)
    .find((one) => isSignedBy(one, owner))
  if (!listed) return undefined
  const { content } = readSigned(rawOf(listed, owner.chain_id))
  return { nonce, content, hash: listed.hash, block_number: high, block_hash: block.hash }
}

/** The content of the account's transaction that a node has in its pool, as its signed bytes prove; undefined: the node has none. */
export async function findInMempool(rpc: Rpc, owner: Owner, hash: string): Promise<SignedContent | undefined> {
  const listed = (await rpc('eth_getTransactionByHash', [hash], { decode: decodeTransaction })) as ReturnType<
    typeof decodeTransaction
  >
  if (listed?.hash !== hash || !isSignedBy(listed, owner)) return undefined
  return readSigned(rawOf(listed, owner.chain_id)).content
}

const hex = (number: number) => `0x${number.toString(16)}`

const readBlock = (rpc: Rpc, number: number) => call(rpc, 'eth_getBlockByNumber', [hex(number), true]).catch(orAbsent)

/**
 * Whether the fields serialize to bytes whose keccak-256 is the transaction's hash, signed by the account for its chain (EIP-155,
 * 2718, 2930, 1559, 4844, 7702). False for an unknown type, and for a signature that is valid on any chain.
 */
export function isSignedBy(listed: ListedTransaction, { chain_id, address }: Owner): boolean {
  try {
    const raw = rawOf(listed, chain_id)
    if (toHex(keccak256(raw)) !== listed.hash) return false
    const signed = readSigned(raw)
    return signed.chain_id === BigInt(chain_id) && signed.recover() === address
  } catch {
    return false
  }
}

/** The signed bytes (EIP-2718). Throws for members that are no quantities. */
function rawOf(listed: ListedTransaction, chainId: number): Uint8Array {
  const {
    maxFeePerGas,
    maxPriorityFeePerGas,
    maxFeePerBlobGas,
    blobVersionedHashes = [],
    authorizationList = [],
  } = listed
  const { nonce, gasPrice, gas, to, value, input, accessList = [], r, s, v } = listed
  const type = Number(listed.type ?? 0)
  const content = [BigInt(gas), fromHex(to), BigInt(value), fromHex(input)]
  const entries = accessList.map(({ address, storageKeys }) => [fromHex(address), storageKeys.map(fromHex)])
  const signature = [type === 0 ? BigInt(v) : parityOf(BigInt(v)), BigInt(r), BigInt(s)]
  if (type === 0) return RLP.encode([BigInt(nonce), BigInt(gasPrice ?? 0), ...content, ...signature])
  const prices = type === 1 ? [gasPrice] : [maxPriorityFeePerGas, maxFeePerGas]
  const more: Record<number, Input[]> = {
    3: [BigInt(maxFeePerBlobGas ?? 0), blobVersionedHashes.map(fromHex)],
    4: [authorizationList.map(authorization)],
  }
  const fields = [chainId, BigInt(nonce), ...prices.map((price) => BigInt(price ?? 0)), ...content, entries]
  return Buffer.concat([Uint8Array.of(type), RLP.encode([...fields, ...(more[type] ?? []), ...signature])])
}

const authorization = (one: NonNullable<ListedTransaction['authorizationList']>[number]): Input => [
  BigInt(one.chainId),
  fromHex(one.address),
  BigInt(one.nonce),
  BigInt(one.yParity),
  BigInt(one.r),
  BigInt(one.s),
]

/** The y parity of a typed transaction, which some nodes give as 27 or 28. */
const parityOf = (v: bigint): bigint => (v > 1n ? v - 27n : v)
