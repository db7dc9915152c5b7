import { Transaction } from 'ethers/transaction'
import { leastGas, max_transaction_gas } from '../gas.ts'
import { toHex } from '../hex.ts'

/** What nodes take as one transaction (geth's txMaxSize, which the other clients follow). */
const max_bytes = 128 * 1024
const max_initcode_bytes = 49_152

/** Chains with all rules of Ethereum: the mainnet, Sepolia and Hoodi. Others may have higher limits. */
const ethereum_chain_ids: ReadonlySet<bigint> = new Set([1n, 11_155_111n, 560_048n])

/**
 * Why no node can accept these signed bytes, derived from the bytes alone; undefined when nothing is wrong with them. The rules:
 * intrinsic gas (EIP-2028, EIP-2930) and the encoded size; on Ethereum's own chains also the gas floor of data (EIP-7623), the gas
 * limit of a transaction (EIP-7825) and the size of initcode (EIP-3860).
 */
export function flawOf(raw: Uint8Array): string | undefined {
  if (raw.length > max_bytes) return `it has ${raw.length} bytes, and nodes accept at most ${max_bytes}`
  const { chainId, to, data, gasLimit, accessList } = Transaction.from(toHex(raw))
  const bytes = Buffer.from(data.slice(2), 'hex')
  const listed_keys = (accessList ?? []).map(({ storageKeys }) => storageKeys.length)
  const { intrinsic, floor } = leastGas({ isCreation: to === null, data: bytes, listed_keys })
  if (gasLimit < intrinsic) return `its gas limit (${gasLimit}) is below its intrinsic gas (${intrinsic})`
  if (!ethereum_chain_ids.has(chainId)) return undefined

  if (gasLimit < floor) return `its gas limit (${gasLimit}) is below the gas floor of its data (${floor})`
  if (gasLimit > max_transaction_gas) {
    return `its gas limit (${gasLimit}) is above the limit of a transaction (${max_transaction_gas})`
  }
  return to === null && bytes.length > max_initcode_bytes
    ? `its initcode has ${bytes.length} bytes, and at most ${max_initcode_bytes} are allowed`
    : undefined
}

/** What signed bytes prove against a node's refusal; undefined when the refusal is not about the signature or the chain id. */
export function contradictionOf(refusal: string, raw: Uint8Array): string | undefined {
  const isAboutSender = /sender|signature/i.test(refusal)
  const isAboutChain = /chain ?id|another chain|replay-protected/i.test(refusal)
  if (!isAboutSender && !isAboutChain) return undefined
  const { from, chainId } = Transaction.from(toHex(raw))
  return isAboutSender ? `the signature recovers to ${from?.toLowerCase()}` : `it is signed for chain ${chainId}`
}
