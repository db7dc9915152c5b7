import type { AccessList, Authorization } from '../../generated/openapi.ts'
import type { Receipt } from '../domain/decide.ts'
import { balanceOfCall, type FeePart, feeParts, gasPriceOracle, word } from '../domain/encoding/contract-data.ts'
import { toHex } from '../domain/encoding/digest.ts'
import type { Market } from '../domain/fees.ts'
import type { Revert } from '../domain/outcome.ts'
import { withTimeout } from '../lib/timers.ts'
import type { Block } from './answers.ts'
import { readMarket } from './market.ts'
import { call as ask, isOfItem, MalformedAnswer, orAbsent, type Rpc, RpcError } from './rpc.ts'
import { isOutOfGas, revertData, revertReason } from './rpc-error.ts'
import { type Head, Snapshot, type StateQuestions } from './snapshot.ts'

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

/** A transfer that a payer has authorized (EIP-3009). Addresses in lower case, the nonce 32 bytes of hex. */
export interface Authorized {
  asset: string
  payer: string
  pay_to: string
  amount: string
  nonce: string
}

/** Of AuthorizationUsed(address,bytes32), and of Transfer(address,address,uint256). */
const usedTopic = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const topicOf = (address: string): string => `0x${word(address)}`

/** A quantity that a contract returns: 32 bytes. */
const wordBytes = 32

/**
 * The calls of a chain that the service makes, and no others, apart from those about transactions that are in no block (mempool.ts). All
 * throw RpcError or RpcUnavailable.
 */
export class Chain implements StateQuestions {
  /** Passes on what callers ask for, and the answer as it is. */
  readonly rpc: Rpc

  constructor(rpc: Rpc) {
    this.rpc = rpc
  }

  /** The newest block. */
  async head(): Promise<Head> {
    const { number, hash, parent_hash, at_ms, base_fee } = await newest(this.rpc)
    return { number, hash, parent_hash, at_ms, base_fee }
  }

  /** Undefined: the node has no such block, or does not say. */
  async blockHash(number: number): Promise<string | undefined> {
    return (await ask(this.rpc, 'eth_getBlockByNumber', [hex(number), false]).catch(orAbsent))?.hash
  }

  /** The state at the newest block. What decides about money reads it, and nothing of the three below. */
  async snapshot(): Promise<Snapshot> {
    return new Snapshot(this, await this.head())
  }

  balance(address: string): Promise<bigint> {
    return this.balanceAt(address, 'latest')
  }

  /** The balance of an ERC-20 token, in its smallest unit; 0 when the address is no token. */
  tokenBalance(token: string, owner: string): Promise<bigint> {
    return this.tokenBalanceAt(token, owner, 'latest')
  }

  latestNonce(address: string): Promise<number> {
    return this.nonceAt(address, 'latest')
  }

  /** The account's count including the node's pool. */
  pendingNonce(address: string): Promise<number> {
    return this.nonceAt(address, 'pending')
  }

  nonceAt(address: string, block: string): Promise<number> {
    return ask(this.rpc, 'eth_getTransactionCount', [address, block])
  }

  balanceAt(address: string, block: string): Promise<bigint> {
    return ask(this.rpc, 'eth_getBalance', [address, block])
  }

  async tokenBalanceAt(token: string, owner: string, block: string): Promise<bigint> {
    return (await readContract(this.rpc, token, balanceOfCall(owner), block)) ?? 0n
  }

  /** The hash of the account's transaction with this nonce in the node's pool; undefined: the node does not show it. */
  async pooledHash(address: string, nonce: number): Promise<string | undefined> {
    // Neither method is standard: a node that has the first one seldom has the second.
    const shown = await ask(this.rpc, 'eth_getTransactionBySenderAndNonce', [address, hex(nonce)]).catch(() => null)
    if (shown !== null) return shown
    return (await ask(this.rpc, 'txpool_contentFrom', [address]).catch(() => undefined))?.get(nonce)
  }

  /** The code of an address, in the newest block or in one given; that of a delegated account (EIP-7702) names its delegate. */
  code(address: string, blockNumber?: number): Promise<Buffer> {
    return ask(this.rpc, 'eth_getCode', [address, blockNumber === undefined ? 'latest' : hex(blockNumber)])
  }

  /** Whether the payer's nonce of EIP-3009 is used, or canceled; undefined: the contract does not tell. */
  async authorizationState({ asset, payer, nonce }: Authorized, blockNumber?: number): Promise<boolean | undefined> {
    const block = blockNumber === undefined ? 'latest' : hex(blockNumber)
    const state = await readContract(this.rpc, asset, `0xe94a0102${word(payer)}${word(nonce)}`, block).catch(
      orNoFunction,
    )
    return state === undefined ? undefined : state !== 0n
  }

  /**
   * The transaction that carried out an authorization, in these blocks. A token of EIP-3009 tells of the use, and of the transfer directly
   * after it: a use for another transfer is none, and a transfer is counted for one use.
   */
  async transferBy({ asset, payer, pay_to, amount, nonce }: Authorized, from: number, to: number) {
    const [used] = await ask(this.rpc, 'eth_getLogs', [
      { address: asset, topics: [usedTopic, topicOf(payer), nonce], fromBlock: hex(from), toBlock: hex(to) },
    ])
    if (!used) return undefined
    const transfers = await ask(this.rpc, 'eth_getLogs', [
      { address: asset, topics: [transferTopic, topicOf(payer), topicOf(pay_to)], blockHash: used.block_hash },
    ])
    const own = transfers.find(({ hash, index }) => hash === used.hash && index === used.index + 1)
    return own && toHex(own.data) === `0x${word(BigInt(amount))}` ? used : undefined
  }

  /** In milliseconds since the Unix epoch; undefined: the node has no such block, or does not tell. */
  async blockTime(number: number): Promise<number | undefined> {
    return (await ask(this.rpc, 'eth_getBlockByNumber', [hex(number), false]).catch(orAbsent))?.at_ms
  }

  market(): Promise<Market> {
    return readMarket(this.rpc)
  }

  /** The block gas limit; undefined when the node does not report it. */
  async blockGasLimit(): Promise<number | undefined> {
    return (await newest(this.rpc)).gas_limit
  }

  /** `atS`: by the rules of a block at that time, in seconds since the Unix epoch; only some nodes can tell these. */
  estimateGas(call: CallRequest, atS?: number): Promise<number> {
    return ask(this.rpc, 'eth_estimateGas', [encodeCall(call), ...atTime(atS)])
  }

  /** Runs a call with a gas limit. Resolves to the error about it; undefined: it runs. */
  async tryGas(call: CallRequest & { gas: number }, atS?: number): Promise<RpcError | undefined> {
    try {
      await ask(this.rpc, 'eth_call', [encodeCall(call), 'latest', ...atTime(atS).slice(1)])
      return undefined
    } catch (error) {
      if (!(error instanceof RpcError) || error.kind === 'unavailable' || error.kind === 'rate_limited') throw error
      return error
    }
  }

  /**
   * When the newest fork was, and when the next one is planned (EIP-7910), in seconds since the Unix epoch; empty: the node does not tell.
   */
  forkTimes(): Promise<number[]> {
    return ask(this.rpc, 'eth_config', []).catch(() => [])
  }

  /**
   * What a chain of the OP stack charges besides the gas, at most, by its contract GasPriceOracle; undefined: the contract does not
   * exist or tells no fee. `bytes`: of the unsigned transaction.
   */
  dataFee(bytes: number, gasLimit: number): Promise<bigint | undefined> {
    return feeOfParts(this.rpc, feeParts, { bytes, gas: gasLimit })
  }

  /** A transaction of which the node does not say whether it has a receipt is left out. Throws only when no node answers at all. */
  async receipts(hashes: string[]): Promise<Receipts> {
    const receipts = new Map<string, Receipt | null>()
    let silence: unknown
    const read = async (hash: string) => {
      try {
        const receipt = await ask(this.rpc, 'eth_getTransactionReceipt', [hash])
        receipts.set(hash.toLowerCase(), await withWholeFee(this.rpc, receipt))
      } catch (error) {
        if (isAbsence(error)) receipts.set(hash.toLowerCase(), null)
        else if (!isOfItem(error)) silence = error
      }
    }
    await Promise.all(hashes.map(read))
    if (silence !== undefined && receipts.size === 0) throw silence
    return receipts
  }

  /** Why a call reverts at a block; undefined when it does not, or the node does not say. */
  async replay(call: CallRequest, blockNumber: number): Promise<Revert | undefined> {
    try {
      // The call runs on the state of the preceding block, which lacks earlier transactions of the same block: a best guess.
      await this.rpc('eth_call', [encodeCall(call), hex(Math.max(blockNumber - 1, 0))])
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
  }
}

/** The timeout for one endpoint. */
const surveyMs = 3_000

/** Asks all endpoints concurrently, with a time limit. An endpoint that does not answer gives undefined. */
export function askEach<T>(each: Chain[], question: (node: Chain) => Promise<T>): Promise<(T | undefined)[]> {
  return Promise.all(each.map((chain) => within(surveyMs, question(chain))))
}

/** The height of the chain, and the account's transaction count at it. */
export async function pollNode(node: Chain, address: string): Promise<{ head: number; latest: number }> {
  const snapshot = await node.snapshot()
  return { head: snapshot.head.number, latest: await snapshot.latestNonce(address) }
}

/** Resolves to undefined when the work takes longer or fails. */
export function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  return withTimeout(
    ms,
    () => new Error('not in time'),
    () => work,
  ).catch(() => undefined)
}

/** The number that a contract returns; undefined: there is no such contract. */
async function readContract(rpc: Rpc, to: string, data: string, block = 'latest'): Promise<bigint | undefined> {
  const answer = await ask(rpc, 'eth_call', [{ to, data }, block])
  if (answer.length === 0) return undefined
  if (answer.length !== wordBytes) throw new MalformedAnswer(`The contract ${to} returns no number`)
  return BigInt(toHex(answer))
}

/** Undefined: there is no such contract, or it has no such function. */
const askOracle = (rpc: Rpc, data: string, block?: string): Promise<bigint | undefined> =>
  readContract(rpc, gasPriceOracle, data, block).catch(orNoFunction)

function orNoFunction(error: unknown): undefined {
  if (!(error instanceof RpcError && error.kind === 'reverted')) throw error
}

/** The sum of the parts; undefined: the oracle lacks one that no fork has brought. */
async function feeOfParts(rpc: Rpc, parts: FeePart[], about: { bytes: number; gas: number }, block?: string) {
  const fees = await Promise.all(
    parts.map(async ({ calls, isOptional }) => {
      for (const data of calls(about)) {
        const fee = await askOracle(rpc, data, block)
        if (fee !== undefined) return fee
      }
      return isOptional ? 0n : undefined
    }),
  )
  return fees.reduce((sum, fee) => (sum === undefined || fee === undefined ? undefined : sum + fee), 0n)
}

/** With the parts of the fee that the receipt does not tell, by the state of its block; without a fee if that is not to be had. */
async function withWholeFee(rpc: Rpc, receipt: Receipt | null): Promise<Receipt | null> {
  if (!receipt?.lacks_fee_parts) return receipt
  const { fee, lacks_fee_parts: _, ...others } = receipt
  const lacking = feeParts.filter(({ factors }) => factors !== undefined)
  const about = { bytes: 0, gas: receipt.gas_used ?? 0 }
  const rest = await feeOfParts(rpc, lacking, about, hex(receipt.block_number)).catch(() => undefined)
  return fee === undefined || rest === undefined ? others : { ...others, fee: fee + rest }
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

/** More than half. */
export const majorityOf = (count: number): number => Math.floor(count / 2) + 1

/** The answers that are not undefined. */
export const given = <T>(answers: (T | undefined)[]): T[] => answers.filter((answer) => answer !== undefined)

/** The largest number that more than half of all endpoints report or exceed; undefined when too few answered. */
export function reachedByMost<T extends number | bigint>(numbers: (T | undefined)[]): T | undefined {
  const falling = given(numbers).sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))
  return falling[majorityOf(numbers.length) - 1]
}

/** The answer that more than half of ALL endpoints give, by a text that identifies it. A silent endpoint counts as "no". */
export function saidByMost<T>(answers: (T | undefined)[], identify: (answer: T) => string): T | undefined {
  const groups = [...Map.groupBy(given(answers), identify).values()]
  return groups.find((group) => group.length >= majorityOf(answers.length))?.[0]
}

/** The largest number that at least half of those who answered report or exceed; undefined without an answer. */
export const atLeastHalf = (numbers: number[]): number | undefined =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
