import type { DryRun, Network } from '../../../generated/openapi.ts'
import { hasNoCoin } from '../../core/data-fee.ts'
import { decodeError } from '../../core/decoding/decoded-call.ts'
import { authorityOf } from '../../core/decoding/signed-transaction.ts'
import { ApiError, badRequest, insufficientFunds, refusedBy } from '../../core/errors.ts'
import type { NodeAccess } from '../../core/node-access.ts'
import { coinSpentByCall } from '../../core/policies/coin.ts'
import { feeOf } from '../../core/policies/fee-policies.ts'
import type { Market, Prices } from '../../core/prices.ts'
import type { RelayerRow } from '../../core/rows.ts'
import type { TransactionRow } from '../../core/sending-rows.ts'
import { type PrivateSubmission, readSubmission } from '../../core/submission.ts'
import type { TransactionType } from '../../core/transaction-form.ts'
import type { TransactionRequest } from '../../core/transaction-request.ts'
import type { CallRequest } from '../../evm/chain.ts'
import { dataFeeOf } from '../../evm/data-fee.ts'
import type { GasShortage } from '../../evm/gas.ts'
import type { Mempool } from '../../evm/mempool.ts'
import { RpcError, rpcKindOf } from '../../evm/rpc.ts'
import { revertData, revertReason } from '../../evm/rpc-error.ts'
import type { AccountSnapshot } from '../../evm/snapshot.ts'
import { currentOf, type NetworkClient, type SendingDependencies } from '../dependencies.ts'
import type { Nonces } from '../nonces/nonces.ts'
import { checkAuthorizations } from './admission.ts'
import { createFundsReader, type Funds } from './funds.ts'
import { priceRequest } from './pricing.ts'

/** The chain's view of a transaction, before it gets a nonce. Amounts are in wei. */
export interface Quote {
  gas_limit: number
  type: TransactionType
  prices: Prices
  market: Market
  /** What the chain charges for the data besides the gas, by its estimate (evm/data-fee.ts). */
  data_fee: bigint
  /** What a call of the coin's token takes from the balance. */
  coin_spent: bigint
  /** The value, what a call spends, the gas limit at the highest price, and the data fee. */
  max_cost: bigint
  balance: bigint
  /** The most that it and all unfinished transactions may cost together (funds.ts). */
  funds: bigint
  /** The most that the account's other unfinished transactions can still cost. */
  reserved: bigint
  /** The account's transaction count on chain, and the nonce counter. */
  latest: number
  next_nonce: number
  /** The relayer's address has code, also by a delegation (EIP-7702). */
  has_code: boolean
  /** What decodes the data, as human-readable ABI; null: nothing is known of it. */
  fragments: string[] | null
  /** Null: public. */
  submission: PrivateSubmission | null
}

export interface Preparation {
  /**
   * Asks the chain. Throws ApiError: 400 for a transaction that would fail, 503 for a chain that does not answer. `replaced`: the
   * transaction that it replaces.
   */
  quote(nodes: NodeAccess, relayer: RelayerRow, request: TransactionRequest, replaced?: TransactionRow): Promise<Quote>
  /** What a dry run tells about gas. */
  gasOf(nodes: NodeAccess, relayer: RelayerRow, request: TransactionRequest): Promise<DryRun['gas']>
}

/** The balance where balances say nothing. */
export const unlimited = 2n ** 256n

/** The columns of a row for what it costs besides value and gas; nothing is no column. */
export const costColumns = ({ data_fee, coin_spent }: Quote) => ({
  data_fee: data_fee === 0n ? null : `${data_fee}`,
  coin_spent: coin_spent === 0n ? null : `${coin_spent}`,
})

/** 0x and 4 bytes. */
const selector_length = 10

type PreparationDependencies = Pick<SendingDependencies, 'store' | 'clientFor'> & { nonces: Nonces }

export function createPreparation({ store, clientFor, nonces }: PreparationDependencies): Preparation {
  const readFunds = createFundsReader(store)

  async function quote(
    nodes: NodeAccess,
    relayer: RelayerRow,
    request: TransactionRequest,
    replaced?: TransactionRow,
  ): Promise<Quote> {
    checkAuthorizations(relayer, request.authorization_list, authorityOf)
    const fragments = request.fragments ?? (await knownFragments(relayer, request))
    const networkClient = await clientFor(nodes, relayer)
    if (!networkClient) throw unavailable('network', 'The network of the relayer was deleted')
    const submission = submissionOf(request, networkClient.network, replaced)
    const mempool = networkClient.mempoolOf({ submission })
    try {
      const [known, market, gas_limit, has_code] = await Promise.all([
        networkClient.funds(relayer.address),
        networkClient.market(),
        gasLimit(relayer, mempool, request),
        networkClient.hasCode(relayer.address),
      ])
      if (!replaced) await nonces.checkUnknown(relayer, networkClient, request)
      // A disabled relayer is enabled again when its chain is the right one.
      if (!(await nonces.mayAssign(relayer, networkClient, known.latest))) {
        throw disabled(await currentOf({ store }, relayer))
      }
      const { type, prices } = priceRequest(relayer, request, market)
      const data_fee = await dataFeeOf(networkClient, request, gas_limit)
      const coin_spent = coinSpentByCall(relayer.coin_token, request)
      const max_cost = BigInt(request.value) + coin_spent + feeOf({ gas_limit, prices, data_fee })
      const own = BigInt(replaced?.reserved ?? 0)
      const { min_balance = '0' } = relayer.policies
      const { balance, funds, account } = await fundsFor(relayer, networkClient, { known, max_cost, own })
      if (balance < BigInt(min_balance)) {
        await store.noteBalance(relayer.row_id, balance.toString(), min_balance, true)
      }
      const reserved = BigInt(account.reserved) - own
      const { next_nonce } = account
      const cost = { data_fee, coin_spent, max_cost, balance, funds, reserved }
      return {
        gas_limit,
        type,
        prices,
        market,
        ...cost,
        latest: known.latest,
        next_nonce,
        has_code,
        fragments,
        submission,
      }
    } catch (error) {
      await nonces.disableOnWrongChain(relayer, error)
      throw asApiError(error, fragments)
    }
  }

  async function knownFragments({ network }: RelayerRow, { to, data }: TransactionRequest): Promise<string[] | null> {
    if (to === null || data === null) return null
    const selector = data.slice(0, selector_length)
    return (await store.knownFragments({ network, address: to, selector })) ?? null
  }

  /** The account may just have been funded, so a cached balance refuses nothing. */
  async function fundsFor(
    relayer: RelayerRow,
    { atNewest, network }: NetworkClient,
    { known, max_cost, own }: { known: AccountSnapshot; max_cost: bigint; own: bigint },
  ): Promise<Funds> {
    const { chain_id, address } = relayer
    if (hasNoCoin(network)) {
      return { balance: unlimited, funds: unlimited, account: await store.getAccount(chain_id, address) }
    }
    const remembered = await readFunds.byMemory(relayer, known)
    const isEnough = remembered.funds >= max_cost + BigInt(remembered.account.reserved) - own
    const { min_balance = '0' } = relayer.policies
    if (isEnough && remembered.funds >= BigInt(min_balance)) return remembered
    return readFunds.at(relayer, await atNewest((snapshot) => snapshot.account(address)))
  }

  async function gasOf(nodes: NodeAccess, relayer: RelayerRow, request: TransactionRequest): Promise<DryRun['gas']> {
    const client = await clientFor(nodes, relayer)
    if (!client) return { needed: null, limit: request.gas_limit, creates_account: null }
    const { gas } = client.mempoolOf({ submission: submissionOf(request, client.network, undefined) })
    const [needed, creates_account] = await Promise.all([
      gas.estimate(callOf(relayer.address, request)).catch(() => undefined),
      createsAccount(client, request).catch(() => undefined),
    ])
    return { needed: needed ?? null, limit: request.gas_limit, creates_account: creates_account ?? null }
  }

  return { quote, gasOf }
}

/** Whether the receiver of a value does not exist yet (EIP-161). Throws RpcError or RpcUnavailable. */
async function createsAccount({ estimates, hasCode }: NetworkClient, { to, value }: TransactionRequest) {
  if (to === null || value === '0') return false
  const [balance, count, isContract] = await Promise.all([
    estimates.balance(to),
    estimates.latestNonce(to),
    hasCode(to),
  ])
  return balance === 0n && count === 0 && !isContract
}

/** A replacement that asks for no other keeps the previous. */
function submissionOf(
  { submission }: TransactionRequest,
  network: Network,
  replaced: TransactionRow | undefined,
): PrivateSubmission | null {
  if (replaced && submission === undefined) return replaced.submission
  return readSubmission(submission ?? network.submission, network)
}

/** The estimated gas limit, or the given one if it suffices. */
async function gasLimit(
  { address, policies }: RelayerRow,
  { gas }: Mempool,
  request: TransactionRequest,
): Promise<number> {
  const call = callOf(address, request)
  const { gas_limit } = request
  if (gas_limit === null) {
    if (policies.gas_limit_estimation !== false) return gas.limit(call)
    throw badRequest('/body/gas_limit', 'must be given: the policy gas_limit_estimation is off')
  }
  const shortage = await gas.shortageOf({ ...call, gas: gas_limit })
  if (shortage) throw gasLimitTooLow(shortage)
  return gas_limit
}

export const callOf = (
  from: string,
  {
    to,
    value,
    data,
    access_list,
    authorization_list,
  }: Pick<TransactionRequest, 'to' | 'value' | 'data' | 'access_list' | 'authorization_list'>,
): CallRequest => ({ from, to, value: BigInt(value), data, access_list, authorization_list })

function gasLimitTooLow({ needed, text }: GasShortage): ApiError {
  const message =
    needed === undefined ? `is too low: the transaction ${text}` : `must be at least ${needed}: ${so_much}`
  return new ApiError('gas_limit_too_low', 'Unprocessable Content', [
    { path: '/body/gas_limit', message: message.slice(0, 1_000) },
  ])
}

const so_much = 'the nodes estimate so much for this transaction'

/** Throws ApiError (403 for the policy min_balance, else 400) when the balance is too low. */
export function checkFunds(relayer: RelayerRow, quote: Quote): void {
  const { policies } = relayer
  const { balance, funds, reserved, max_cost } = quote
  if (balance < BigInt(policies.min_balance ?? 0)) {
    const message = `The balance is ${balance} wei, which is below the required minimum of ${policies.min_balance} wei`
    throw refusedBy([{ path: 'policies/min_balance', message }])
  }
  if (funds < max_cost + reserved) throw tooLittle(relayer, quote, reserved)
}

/** The ApiError (400) for a balance that is too low for the transaction and all unfinished ones. */
export function tooLittle({ address }: RelayerRow, { max_cost, balance }: Quote, reserved: bigint): ApiError {
  const others = reserved > 0n ? `; accepted transactions that are not mined yet cost up to ${reserved} wei of it` : ''
  return insufficientFunds(
    `costs up to ${max_cost} wei with gas, and the balance of ${address} is ${balance} wei${others}`,
  )
}

/** Turns a node's error into the ApiError for the caller; other errors are returned unchanged. */
export function asApiError(error: unknown, fragments: string[] | null): unknown {
  const kind = rpcKindOf(error)
  if (kind === undefined) return error
  const { message } = error as Error
  if (kind === 'reverted') return reverts(revertText(error as Error, fragments), error)
  if (kind === 'insufficient_funds') return insufficientFunds('the balance does not cover the value and the gas')
  if (kind === 'gas_limit_too_low' || kind === 'gas_limit_too_high') return badRequest('/body/gas_limit', message)
  if (kind === 'rejected') return badRequest('/body', message)
  const wrong = (error as { wrong_chain?: bigint }).wrong_chain
  return unavailable(
    'network',
    wrong === undefined ? message : `The nodes of the network are on another chain (${wrong})`,
  )
}

/** Decoded, also a custom error that the ABI of the request has; the node's message when it gives no reason. */
function revertText(error: Error, fragments: string[] | null): string {
  if (!(error instanceof RpcError)) return error.message
  const data = revertData(error.error)
  const reason = (fragments && data && decodeError(fragments, data)) || revertReason(error.error)
  return reason ? `execution reverted: ${reason}` : error.message
}

/** The node's error is kept as the cause: it has the bytes of the revert. */
function reverts(message: string, cause: unknown): ApiError {
  const details = [{ path: '/body', message: `would revert: ${message}`.slice(0, 1_000) }]
  return Object.assign(new ApiError('execution_reverted', 'Bad Request', details), { cause })
}

const unavailable = (path: string, message: string) =>
  new ApiError('unavailable', 'Service Unavailable', [{ path, message: message.slice(0, 1_000) }])

const disabled = ({ disabled_reason }: RelayerRow) =>
  unavailable('relayer', disabled_reason ?? 'The relayer was disabled for a moment; repeat the request')
