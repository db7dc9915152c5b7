import type { AccessList, Authorization } from '../../generated/openapi.ts'
import type { Receipt } from '../domain/decide.ts'
import { balanceOfCall, type FeePart, feeParts, gasPriceOracle } from '../domain/encoding/contract-data.ts'
import type { Market } from '../domain/fees.ts'
import type { Revert } from '../domain/outcome.ts'
import { toHex } from '../lib/hex.ts'
import type { Block } from './answers.ts'
import { readMarket } from './market.ts'
import { findByNonce, type SignedTransaction } from './nonce-search.ts'
import { call as ask, isOfItem, MalformedAnswer, type Rpc, RpcError } from './rpc.ts'
import { isOutOfGas, revertData, revertReason } from './rpc-error.ts'
import { type Head, Snapshot } from './snapshot.ts'

export type { Head } from './snapshot.ts'

/** The receipts of transactions that one node has, by hash; null: it has none; absent: it does not say. */
export type Receipts = ReadonlyMap<string, Receipt | null>

export interface CallRequest {
  from: string
  to: string | null
  value: bigint
  data: string | null
  gas?: number
  access_list?: AccessList | null
  authorization_list?: Authorization[] | null
}

/**
 * The calls of a chain that the service makes, and no others, apart from those about transactions that are in no block (mempool.ts). All
 * throw RpcError or RpcUnavailable.
 */
export interface Chain {
  /** Passes on what callers ask for, and the answer as it is. */
  rpc: Rpc
  /** The newest block. */
  head(): Promise<Head>
  /** Undefined: the node has no such block, or does not say. */
  blockHash(number: number): Promise<string | undefined>
  /** The state at the newest block. What decides about money reads it, and nothing of the three below. */
  snapshot(): Promise<Snapshot>
  balance(address: string): Promise<bigint>
  /** The balance of an ERC-20 token, in its smallest unit; 0 when the address is no token. */
  tokenBalance(token: string, owner: string): Promise<bigint>
  latestNonce(address: string): Promise<number>
  /** The account's count including the node's pool. */
  pendingNonce(address: string): Promise<number>
  /** The hash of the account's transaction with this nonce in the node's pool; undefined: the node does not show it. */
  pooledHash(address: string, nonce: number): Promise<string | undefined>
  /** The code of an address, in the newest block or in one given; that of a delegated account (EIP-7702) names its delegate. */
  code(address: string, blockNumber?: number): Promise<Buffer>
  market(): Promise<Market>
  /** The block gas limit; undefined when the node does not report it. */
  blockGasLimit(): Promise<number | undefined>
  /** `at_s`: by the rules of a block at that time, in seconds since the Unix epoch; only some nodes can tell these. */
  estimateGas(call: CallRequest, atS?: number): Promise<number>
  /** Runs a call with a gas limit. Resolves to the error about it; undefined: it runs. */
  tryGas(call: CallRequest & { gas: number }, atS?: number): Promise<RpcError | undefined>
  /** When the newest fork was, and when the next one is planned (EIP-7910), in seconds since the Unix epoch; empty: the node does not tell. */
  forkTimes(): Promise<number[]>
  /**
   * What a chain of the OP stack charges besides the gas, at most, by its contract GasPriceOracle; undefined: the contract does not
   * exist or tells no fee. `bytes`: of the unsigned transaction.
   */
  dataFee(bytes: number, gasLimit: number): Promise<bigint | undefined>
  /** A transaction of which the node does not say whether it has a receipt is left out. Throws only when no node answers at all. */
  receipts(hashes: string[]): Promise<Receipts>
  /** Why a call reverts at a block; undefined when it does not, or the node does not say. */
  replay(call: CallRequest, blockNumber: number): Promise<Revert | undefined>
  /** The transaction that used a nonce, proven by its signed bytes; undefined: not found, or not proven. */
  findByNonce(
    account: { chain_id: number; address: string },
    nonce: number,
    head: number,
  ): Promise<SignedTransaction | undefined>
}

/** A quantity that a contract returns: 32 bytes. */
const wordBytes = 32

export function createChain(rpc: Rpc): Chain {
  const nonceAt = (address: string, block: string) => ask(rpc, 'eth_getTransactionCount', [address, block])

  /** The number that a contract returns; undefined: there is no such contract. */
  const readContract = async (to: string, data: string, block = 'latest'): Promise<bigint | undefined> => {
    const answer = await ask(rpc, 'eth_call', [{ to, data }, block])
    if (answer.length === 0) return undefined
    if (answer.length !== wordBytes) throw new MalformedAnswer(`The contract ${to} returns no number`)
    return BigInt(toHex(answer))
  }

  const balanceAt = (address: string, block: string) => ask(rpc, 'eth_getBalance', [address, block])
  const tokenBalanceAt = async (token: string, owner: string, block: string) =>
    (await readContract(token, balanceOfCall(owner), block)) ?? 0n
  const head = async (): Promise<Head> => {
    const { number, hash, parent_hash, at_ms } = await newest(rpc)
    return { number, hash, parent_hash, at_ms }
  }

  /** Undefined: there is no such contract, or it has no such function. */
  const oracle = (data: string, block?: string): Promise<bigint | undefined> =>
    readContract(gasPriceOracle, data, block).catch((error) => {
      if (error instanceof RpcError && error.kind === 'reverted') return undefined
      throw error
    })

  /** The sum of the parts; undefined: the oracle lacks one that no fork has brought. */
  async function feeOfParts(parts: FeePart[], about: { bytes: number; gas: number }, block?: string) {
    const fees = await Promise.all(
      parts.map(async ({ calls, isOptional }) => {
        for (const data of calls(about)) {
          const fee = await oracle(data, block)
          if (fee !== undefined) return fee
        }
        return isOptional ? 0n : undefined
      }),
    )
    return fees.reduce((sum, fee) => (sum === undefined || fee === undefined ? undefined : sum + fee), 0n)
  }

  /** With the parts of the fee that the receipt does not tell, by the state of its block; without a fee if that is not to be had. */
  async function withWholeFee(receipt: Receipt | null): Promise<Receipt | null> {
    if (!receipt?.lacks_fee_parts) return receipt
    const { fee, lacks_fee_parts: _, ...others } = receipt
    const lacking = feeParts.filter(({ factors }) => factors !== undefined)
    const about = { bytes: 0, gas: receipt.gas_used ?? 0 }
    const rest = await feeOfParts(lacking, about, hex(receipt.block_number)).catch(() => undefined)
    return fee === undefined || rest === undefined ? others : { ...others, fee: fee + rest }
  }

  return {
    rpc,
    head,
    snapshot: async () => new Snapshot({ nonceAt, balanceAt, tokenBalanceAt }, await head()),
    blockHash: (number) =>
      ask(rpc, 'eth_getBlockByNumber', [hex(number), false]).then(
        (block) => block?.hash,
        (error) => {
          if (isOfItem(error)) return undefined
          throw error
        },
      ),
    balance: (address) => balanceAt(address, 'latest'),
    tokenBalance: (token, owner) => tokenBalanceAt(token, owner, 'latest'),
    latestNonce: (address) => nonceAt(address, 'latest'),
    pendingNonce: (address) => nonceAt(address, 'pending'),
    async pooledHash(address, nonce) {
      // Neither method is standard: a node that has the first one seldom has the second.
      const shown = await ask(rpc, 'eth_getTransactionBySenderAndNonce', [address, hex(nonce)]).catch(() => null)
      if (shown !== null) return shown
      return (await ask(rpc, 'txpool_contentFrom', [address]).catch(() => undefined))?.get(nonce)
    },
    code: (address, blockNumber) =>
      ask(rpc, 'eth_getCode', [address, blockNumber === undefined ? 'latest' : hex(blockNumber)]),
    market: () => readMarket(rpc),
    blockGasLimit: async () => (await newest(rpc)).gas_limit,
    estimateGas: (call, atS) => ask(rpc, 'eth_estimateGas', [encodeCall(call), ...atTime(atS)]),
    async tryGas(call, atS) {
      try {
        await ask(rpc, 'eth_call', [encodeCall(call), 'latest', ...atTime(atS).slice(1)])
        return undefined
      } catch (error) {
        if (!(error instanceof RpcError) || error.kind === 'unavailable' || error.kind === 'rate_limited') throw error
        return error
      }
    },
    forkTimes: () => ask(rpc, 'eth_config', []).catch(() => []),
    dataFee: (bytes, gasLimit) => feeOfParts(feeParts, { bytes, gas: gasLimit }),
    async receipts(hashes) {
      const receipts = new Map<string, Receipt | null>()
      let silence: unknown
      await Promise.all(
        hashes.map((hash) =>
          ask(rpc, 'eth_getTransactionReceipt', [hash])
            .then(withWholeFee)
            .then(
              (receipt) => void receipts.set(hash.toLowerCase(), receipt),
              (error) => {
                if (isAbsence(error)) receipts.set(hash.toLowerCase(), null)
                else if (!isOfItem(error)) silence = error
              },
            ),
        ),
      )
      if (silence !== undefined && receipts.size === 0) throw silence
      return receipts
    },
    async replay(call, blockNumber) {
      try {
        // The call runs on the state of the preceding block, which lacks earlier transactions of the same block: a best guess.
        await rpc('eth_call', [encodeCall(call), hex(Math.max(blockNumber - 1, 0))])
        return undefined
      } catch (error) {
        if (!(error instanceof RpcError)) return undefined
        const [reason, data] = [revertReason(error.error), revertData(error.error)]
        return {
          is_out_of_gas: isOutOfGas(error.error),
          ...(reason !== undefined && { reason }),
          ...(data !== undefined && { data }),
        }
      }
    },
    findByNonce: (account, nonce, head) =>
      findByNonce(rpc, (address, block) => nonceAt(address, hex(block)), account, nonce, head),
  }
}

/** A block of a chain is never absent here (answers.ts). */
const newest = async (rpc: Rpc): Promise<Block> => (await ask(rpc, 'eth_getBlockByNumber', ['latest', false])) as Block

/** Some nodes answer with an error in place of null. One that is still indexing does not know. */
const isAbsence = (error: unknown): boolean =>
  error instanceof RpcError &&
  error.kind === 'not_found' &&
  /\b(?:tx|transaction|receipt)\b.{0,80}not found/i.test(error.message)

const hex = (number: number | bigint): string => `0x${number.toString(16)}`

/** The block, no changes of the state, and another time of the block. */
const atTime = (atS: number | undefined): unknown[] => (atS === undefined ? [] : ['latest', {}, { time: hex(atS) }])

const encodeCall = ({ from, to, value, data, gas, access_list, authorization_list }: CallRequest) => ({
  from,
  ...(to !== null && { to }),
  value: hex(value),
  ...(data !== null && { data }),
  ...(gas !== undefined && { gas: hex(gas) }),
  ...(access_list && {
    accessList: access_list.map(({ address, storage_keys }) => ({ address, storageKeys: storage_keys })),
  }),
  ...(authorization_list && {
    authorizationList: authorization_list.map(({ chain_id, address, nonce, r, s, y_parity }) => ({
      chainId: hex(chain_id),
      address,
      nonce: hex(nonce),
      r: hex(BigInt(r)),
      s: hex(BigInt(s)),
      yParity: hex(y_parity),
    })),
  }),
})
