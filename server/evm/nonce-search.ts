import type { Authorization } from 'ethers'
import { Signature } from 'ethers/crypto'
import { Transaction, type TransactionLike } from 'ethers/transaction'
import { readSigned, type SignedContent } from '../core/encoding/envelope.ts'
import type { ListedTransaction } from './answers.ts'
import { call, isOfItem, type Rpc, RpcError } from './rpc.ts'

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
const max_candidates = 4

/**
 * Searches the block in which an account used a nonce, from the head backwards in growing steps, and answers with the transaction
 * when its signed fields prove it. A node without the state of an old block ("missing trie node", "pruned") limits the search to
 * the blocks whose state it has. Undefined: not found, or not proven. About 2 log2(age in blocks) calls. Throws RpcUnavailable.
 */
export async function findByNonce(
  rpc: Rpc,
  nonceAt: (address: string, block: number) => Promise<number>,
  owner: Owner,
  nonce: number,
  head: number,
): Promise<SignedTransaction | undefined> {
  /** Undefined when the node does not have the state of that block. */
  const isUsedAt = (block: number) =>
    nonceAt(owner.address, block).then(
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

  const block = await readBlock(rpc, high)
  if (!block?.transactions) return undefined
  const listed = block.transactions
    .filter((one) => Number(one.nonce) === nonce && one.from === owner.address)
    .slice(0, max_candidates)
    .find((one) => isSignedBy(one, owner))
  if (!listed) return undefined
  const { serialized } = Transaction.from(fieldsOf(listed, owner.chain_id))
  return {
    nonce,
    content: readSigned(Buffer.from(serialized.slice(2), 'hex')).content,
    hash: listed.hash,
    block_number: high,
    block_hash: block.hash,
  }
}

const readBlock = (rpc: Rpc, number: number) =>
  call(rpc, 'eth_getBlockByNumber', [`0x${number.toString(16)}`, true]).catch((error) => {
    if (isOfItem(error)) return undefined
    throw error
  })

/**
 * Whether the fields serialize to bytes whose keccak-256 is the transaction's hash, signed by the account for its chain (EIP-155,
 * 2718, 2930, 1559, 4844, 7702). False for a type that ethers does not know, and for a signature that is valid on any chain.
 */
export function isSignedBy(listed: ListedTransaction, { chain_id, address }: Owner): boolean {
  try {
    const { hash, from, chainId } = Transaction.from(fieldsOf(listed, chain_id))
    return hash === listed.hash && from?.toLowerCase() === address && chainId === BigInt(chain_id)
  } catch {
    return false
  }
}

function fieldsOf(listed: ListedTransaction, chain_id: number): TransactionLike {
  const { maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas, blobVersionedHashes, authorizationList } = listed
  const type = Number(listed.type ?? 0)
  const { r, s, v } = listed
  return {
    type,
    chainId: chain_id,
    nonce: Number(listed.nonce),
    to: listed.to,
    value: BigInt(listed.value),
    data: listed.input,
    gasLimit: BigInt(listed.gas),
    signature: Signature.from({ r: word(r), s: word(s), v: BigInt(v) }),
    ...(type < 2 && { gasPrice: BigInt(listed.gasPrice ?? 0) }),
    ...(type > 0 && { accessList: listed.accessList ?? [] }),
    ...(type >= 2 && { maxFeePerGas: BigInt(maxFeePerGas ?? 0) }),
    ...(type >= 2 && { maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas ?? 0) }),
    ...(type === 3 && { maxFeePerBlobGas: BigInt(maxFeePerBlobGas ?? 0) }),
    ...(type === 3 && { blobVersionedHashes: blobVersionedHashes ?? [] }),
    ...(type === 4 && { authorizationList: (authorizationList ?? []).map(authorization) }),
  }
}

const authorization = (one: NonNullable<ListedTransaction['authorizationList']>[number]): Authorization => ({
  address: one.address,
  nonce: BigInt(one.nonce),
  chainId: BigInt(one.chainId),
  signature: Signature.from({ r: word(one.r), s: word(one.s), yParity: Number(one.yParity) as 0 | 1 }),
})

/** Nodes omit the leading zeros of r and s. */
const word = (quantity: string) => `0x${BigInt(quantity).toString(16).padStart(64, '0')}`
