import type { AccessList, Authorization } from '../../generated/openapi.ts'
import type { Receipt } from '../core/decide.ts'
import { balanceOfCall } from '../core/encoding/erc20.ts'
import { dataFeeCall, gas_price_oracle, oldDataFeeCall, operatorFeeCall } from '../core/encoding/gas-price-oracle.ts'
import type { Revert } from '../core/outcome.ts'
import type { Market } from '../core/prices.ts'
import { readMarket } from './market.ts'
import { findByNonce, type SignedTransaction } from './nonce-search.ts'
import { isHex, type RawReceipt, readReceipt, safeNumberOf } from './receipt.ts'
import { type Rpc, RpcError, RpcUnavailable } from './rpc.ts'
import { isOutOfGas, revertData, revertReason } from './rpc-error.ts'

export interface Head {
  number: number
  hash: string
  parent_hash: string
  /** Its time, in milliseconds since the Unix epoch; absent: the node does not tell it. */
  at_ms?: number
}

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
  rpc: Rpc
  /** The newest block. */
  head(): Promise<Head>
  blockHash(number: number): Promise<string | undefined>
  balance(address: string): Promise<bigint>
  /** The balance of an ERC-20 token, in its smallest unit; 0 when the address is no token. */
  tokenBalance(token: string, owner: string): Promise<bigint>
  latestNonce(address: string): Promise<number>
  /** The account's count including the node's pool. */
  pendingNonce(address: string): Promise<number>
  /** The hash of the account's transaction with this nonce in the node's pool; undefined: the node does not show it. */
  pooledHash(address: string, nonce: number): Promise<string | undefined>
  /** Whether the address has code, also by a delegation (EIP-7702). */
  hasCode(address: string): Promise<boolean>
  market(): Promise<Market>
  /** The block gas limit; undefined when the node does not report it. */
  blockGasLimit(): Promise<number | undefined>
  estimateGas(call: CallRequest): Promise<number>
  /**
   * What a chain of the OP stack charges besides the gas, at most, by its contract GasPriceOracle; undefined: the contract does not
   * exist or tells no fee. `bytes`: of the unsigned transaction.
   */
  dataFee(bytes: number, gas_limit: number): Promise<bigint | undefined>
  receipts(hashes: string[]): Promise<(Receipt | undefined)[]>
  /** Why a call reverts at a block; undefined when it does not, or the node does not say. */
  replay(call: CallRequest, block_number: number): Promise<Revert | undefined>
  /** The transaction that used a nonce, proven by its signed bytes; undefined: not found, or not proven. */
  findByNonce(
    account: { chain_id: number; address: string },
    nonce: number,
    head: number,
  ): Promise<SignedTransaction | undefined>
}

/** No account has sent this many transactions, so a larger count is refused. EIP-2681 allows nonces up to 2^64 - 2. */
const max_nonce = 2n ** 48n

/** 32 bytes as hex with 0x. */
const word_length = 66

export function createChain(rpc: Rpc): Chain {
  const quantity = async (method: string, params: unknown[]) => {
    const answer = await rpc(method, params)
    if (!isHex(answer)) throw noAnswer(method)
    return BigInt(answer)
  }
  const nonceAt = async (address: string, block: string) => {
    const count = await quantity('eth_getTransactionCount', [address, block])
    if (count > max_nonce) throw noAnswer('eth_getTransactionCount')
    return Number(count)
  }

  /** Undefined: there is no such contract, or it has no such function. */
  const oracle = async (data: string): Promise<bigint | undefined> => {
    const answer = await rpc('eth_call', [{ to: gas_price_oracle, data }, 'latest']).catch((error) => {
      if (error instanceof RpcError && error.kind === 'reverted') return '0x'
      throw error
    })
    if (answer === '0x') return undefined
    if (!isHex(answer) || answer.length !== word_length) throw noAnswer('eth_call')
    return BigInt(answer)
  }

  return {
    rpc,
    async head() {
      const block = (await rpc('eth_getBlockByNumber', ['latest', false])) as Block | null
      const number = safeNumberOf(block?.number)
      if (!block || number === undefined) throw noAnswer('eth_getBlockByNumber')
      const at_s = safeNumberOf(block.timestamp)
      const head = { number, hash: block.hash, parent_hash: block.parentHash }
      return at_s === undefined ? head : { ...head, at_ms: at_s * 1_000 }
    },
    async blockHash(number) {
      return ((await rpc('eth_getBlockByNumber', [hex(number), false])) as Block | null)?.hash
    },
    balance: (address) => quantity('eth_getBalance', [address, 'latest']),
    async tokenBalance(token, owner) {
      const answer = await rpc('eth_call', [{ to: token, data: balanceOfCall(owner) }, 'latest'])
      if (answer === '0x') return 0n
      if (!isHex(answer) || answer.length !== word_length) throw noAnswer('eth_call')
      return BigInt(answer)
    },
    latestNonce: (address) => nonceAt(address, 'latest'),
    pendingNonce: (address) => nonceAt(address, 'pending'),
    async pooledHash(address, nonce) {
      // Neither method is standard: a node that has the first one seldom has the second.
      const shown = (await rpc('eth_getTransactionBySenderAndNonce', [address, hex(nonce)]).catch(() => null)) as {
        hash?: unknown
      } | null
      const pool = shown
        ? null
        : ((await rpc('txpool_contentFrom', [address]).catch(() => null)) as PoolOfAccount | null)
      const hash = shown?.hash ?? pool?.pending?.[nonce]?.hash ?? pool?.queued?.[nonce]?.hash
      return typeof hash === 'string' && /^0x[0-9a-f]{64}$/i.test(hash) ? hash.toLowerCase() : undefined
    },
    async hasCode(address) {
      const code = await rpc('eth_getCode', [address, 'latest'])
      if (typeof code !== 'string') throw noAnswer('eth_getCode')
      return code.length > 2
    },
    market: () => readMarket(rpc),
    async blockGasLimit() {
      const block = (await rpc('eth_getBlockByNumber', ['latest', false])) as Block | null
      const limit = isHex(block?.gasLimit) ? Number(block.gasLimit) : 0
      return limit > 0 ? limit : undefined
    },
    async estimateGas(call) {
      const estimate = Number(await quantity('eth_estimateGas', [encodeCall(call)]))
      if (!Number.isSafeInteger(estimate)) throw noAnswer('eth_estimateGas')
      return estimate
    },
    async dataFee(bytes, gas_limit) {
      // Chains before the fork Fjord have the older function only, those before Isthmus no operator fee.
      const [data, operator] = await Promise.all([
        oracle(dataFeeCall(bytes)).then((fee) => fee ?? oracle(oldDataFeeCall(bytes))),
        oracle(operatorFeeCall(gas_limit)),
      ])
      return data === undefined ? undefined : data + (operator ?? 0n)
    },
    receipts: (hashes) =>
      Promise.all(
        hashes.map(async (hash) => readReceipt((await rpc('eth_getTransactionReceipt', [hash])) as RawReceipt | null)),
      ),
    async replay(call, block_number) {
      try {
        // The call runs on the state of the preceding block, which lacks earlier transactions of the same block: a best guess.
        await rpc('eth_call', [encodeCall(call), hex(Math.max(block_number - 1, 0))])
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

/** An answer to txpool_contentFrom, by nonce. */
type PoolOfAccount = Partial<Record<'pending' | 'queued', Record<string, { hash?: unknown } | undefined>>>

interface Block {
  number: string
  hash: string
  parentHash: string
  timestamp?: string
  gasLimit?: string
}

/** A malformed result counts as no answer. */
export const noAnswer = (method: string) => new RpcUnavailable(`A node answers ${method} with nothing`)

const hex = (number: number | bigint): string => `0x${number.toString(16)}`

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
