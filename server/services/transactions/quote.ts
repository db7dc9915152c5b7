import type { DryRun, Network } from '../../../generated/openapi.ts'
import { type CallerChains, type NetworkClient, requireClient } from '../../chain/chains.ts'
import { callOf, dataFeeOf, type GasShortage } from '../../chain/gas.ts'
import type { Mempool } from '../../chain/mempool.ts'
import { RpcError, RpcUnavailable, rpcKindOf } from '../../chain/rpc.ts'
import { revertData, revertReason } from '../../chain/rpc-error.ts'
import type { AccountSnapshot } from '../../chain/snapshot.ts'
import { decodeError } from '../../domain/decoding/decoded-call.ts'
import { authorityOf } from '../../domain/decoding/transaction.ts'
import {
  badRequest,
  DomainError,
  errorOf,
  inputFault,
  insufficientFunds,
  refusedBy,
  type Subject,
} from '../../domain/errors.ts'
import {
  applyMaxFee,
  capPrices,
  gwei,
  isAbove,
  type Market,
  most,
  type PriceKind,
  type Prices,
  priceByTier,
  type Tier,
} from '../../domain/fees.ts'
import { hasNoCoin } from '../../domain/network-defaults.ts'
import type { NodeAccess } from '../../domain/node-access.ts'
import { capOf, feeOf } from '../../domain/policies/fee-policies.ts'
import { coinSpentByCall } from '../../domain/policies/token-calls.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import { type PrivateSubmission, readSubmission } from '../../domain/submission.ts'
import { formOf, priceKindOf, type TransactionType, typeOf } from '../../domain/transaction-form.ts'
import type { TransactionRequest } from '../../domain/transaction-request.ts'
import type { TransactionRow } from '../../domain/transaction-rows.ts'
import { checksummed } from '../../domain/values.ts'
import type { Nonces } from '../../sender/nonces/nonces.ts'
import type { Budgets } from '../../store/budgets.ts'
import type { Store } from '../../store/store.ts'
import { checkAuthorizations, requestedCeiling } from './check-request.ts'

/** The chain's view of a transaction, before it gets a nonce. Amounts are in wei. */
export interface TransactionQuote {
  gas_limit: number
  type: TransactionType
  prices: Prices
  market: Market
  /** What the chain charges for the data besides the gas, by its estimate (chain/gas.ts). */
  data_fee: bigint
  /** What a call of the coin's token takes from the balance. */
  coin_spent: bigint
  /** The value, what a call spends, the gas limit at the highest price, and the data fee. */
  max_cost: bigint
  balance: bigint
  /** The most that it and all unfinished transactions may cost together (`AccountFunds`). */
  funds: bigint
  /** The most that the account's other unfinished transactions can still cost. */
  reserved: bigint
  /** The account's transaction count on chain, and the nonce counter. */
  latest: number
  next_nonce: number
  /** The nonce of the account's first transaction that is in no block, if that waits for something. */
  waiting_nonce: number | undefined
  /** The relayer's address has code, also by a delegation (EIP-7702). */
  has_code: boolean
  /** Undefined: nothing is called, or no node told. */
  receiver_has_code: boolean | undefined
  /** What decodes the data, as human-readable ABI; null: nothing is known of it. */
  fragments: string[] | null
  /** Null: public. */
  submission: PrivateSubmission | null
}

/** What a quote asks. */
export interface QuoteContext {
  store: Store
  chains: Pick<CallerChains, 'clientFor'>
  nonces: Nonces
  budgets: Budgets
  /** What accounts may spend. */
  funds: AccountFunds
}

/** A request to one relayer. `replaced`: the transaction that it replaces. */
export interface QuoteInput {
  relayer: RelayerRow
  request: TransactionRequest
  replaced?: TransactionRow
  /** The policy `allow_transactions` does not apply. */
  is_sweep?: true
}

/** The balance where balances say nothing. */
export const unlimited = 2n ** 256n

/** The columns of a row for what it costs besides value and gas; nothing is no column. */
export const costColumns = ({ data_fee, coin_spent }: TransactionQuote) => ({
  data_fee: data_fee === 0n ? null : `${data_fee}`,
  coin_spent: coin_spent === 0n ? null : `${coin_spent}`,
})

/** 0x and 4 bytes. */
const selectorLength = 10

/** Asks the chain. Throws DomainError: 400 for a transaction that would fail, 503 for a chain that does not answer. */
export async function quoteTransaction(
  context: QuoteContext,
  nodes: NodeAccess,
  { relayer, request, replaced }: QuoteInput,
): Promise<TransactionQuote> {
  const { store, chains, nonces } = context
  checkAuthorizations(relayer, request.authorization_list, authorityOf)
  const fragments = request.fragments ?? (await knownFragments(store, relayer, request))
  const networkClient = await requireClient(chains, nodes, relayer)
  const submission = submissionOf(request, networkClient.network, replaced)
  const mempool = networkClient.mempoolOf({ submission })
  try {
    const [known, market, gasUnits, hasCode, calledHasCode] = await Promise.all([
      networkClient.funds(relayer.address),
      networkClient.market(),
      gasLimit(relayer, mempool, request),
      networkClient.hasCode(relayer.address),
      receiverHasCode(networkClient, request),
    ])
    if (!replaced) await nonces.external.check(relayer, networkClient, request)
    // A disabled relayer is enabled again when its chain is the right one.
    if (!(await nonces.mayAssign(relayer, networkClient, known.latest))) {
      throw disabled((await store.getRelayerByRowId(relayer.row_id)) ?? relayer)
    }
    // A counter that was raised just now passed transactions that this database did not know before.
    if (!replaced) await nonces.external.check(relayer, networkClient, request)
    const { type, prices } = priceRequest(relayer, request, market)
    const dataFee = await dataFeeOf(networkClient, request, gasUnits)
    const coinSpent = coinSpentByCall(relayer.coin_token, request)
    const maxCost = BigInt(request.value) + coinSpent + feeOf({ gas_limit: gasUnits, prices, data_fee: dataFee })
    const own = BigInt(replaced?.reserved ?? 0)
    const { min_balance = '0' } = relayer.policies
    const needed = { known, max_cost: maxCost, own }
    const { balance, funds, account } = await fundsFor(context, relayer, networkClient, needed)
    if (balance < BigInt(min_balance)) {
      await store.noteBalance(relayer.row_id, { balance: balance.toString(), min_balance, is_low: true })
    }
    return {
      gas_limit: gasUnits,
      type,
      prices,
      market,
      data_fee: dataFee,
      coin_spent: coinSpent,
      max_cost: maxCost,
      balance,
      funds,
      reserved: BigInt(account.reserved) - own,
      latest: known.latest,
      next_nonce: account.next_nonce,
      waiting_nonce: !replaced && account.next_nonce > known.latest ? await waitingNonce(store, relayer) : undefined,
      has_code: hasCode === true,
      receiver_has_code: calledHasCode,
      fragments,
      submission,
    }
  } catch (error) {
    await nonces.identity.disableOnWrongChain(relayer, error)
    throw asDomainError(error, relayer, networkClient, fragments)
  }
}

async function waitingNonce(store: Store, { row_id }: RelayerRow): Promise<number | undefined> {
  const first = await store.firstInLine(row_id)
  return first && first.wait_reason !== null ? (first.nonce ?? undefined) : undefined
}

/**
 * Whether the receiver of data has code now; undefined: there is no data, an authorization may give it code, or no node tells. Precompiled
 * contracts have no code.
 */
async function receiverHasCode({ isContract }: NetworkClient, { to, data, authorization_list }: TransactionRequest) {
  if (to === null || (data ?? '0x') === '0x' || authorization_list || BigInt(to) < firstOrdinaryAddress)
    return undefined
  return isContract(to)
}

/** Networks have their precompiled contracts below. */
const firstOrdinaryAddress = 0x10_000n

async function knownFragments(store: Store, { network }: RelayerRow, { to, data }: TransactionRequest) {
  if (to === null || data === null) return null
  const selector = data.slice(0, selectorLength)
  return (await store.knownFragments({ network, address: to, selector })) ?? null
}

/** The account may just have been funded, so a cached balance refuses nothing. */
async function fundsFor(
  { store, funds }: QuoteContext,
  relayer: RelayerRow,
  { atNewest, network }: NetworkClient,
  { known, max_cost, own }: { known: AccountSnapshot; max_cost: bigint; own: bigint },
): Promise<Funds> {
  const { chain_id, address } = relayer
  if (hasNoCoin(network)) {
    return { balance: unlimited, funds: unlimited, account: await store.getAccount(chain_id, address) }
  }
  const remembered = await funds.byMemory(relayer, known)
  const isEnough = remembered.funds >= max_cost + BigInt(remembered.account.reserved) - own
  const { min_balance = '0' } = relayer.policies
  if (isEnough && remembered.funds >= BigInt(min_balance)) return remembered
  return funds.at(relayer, await atNewest((snapshot) => snapshot.account(address)))
}

/** What a dry run tells about gas. */
export async function gasOf(
  { chains }: QuoteContext,
  nodes: NodeAccess,
  { relayer, request }: QuoteInput,
): Promise<DryRun['gas']> {
  const client = await chains.clientFor(nodes, relayer)
  if (!client) return { needed: null, limit: request.gas_limit, creates_account: null }
  const { gas } = client.mempoolOf({ submission: submissionOf(request, client.network, undefined) })
  const [needed, createsIt] = await Promise.all([
    gas.estimate(callOf(relayer.address, request)).catch(() => undefined),
    createsAccount(client, request).catch(() => undefined),
  ])
  return { needed: needed ?? null, limit: request.gas_limit, creates_account: createsIt ?? null }
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
    throw badRequest(['gas_limit'], 'must be given: the policy gas_limit_estimation is off')
  }
  const shortage = await gas.shortageOf({ ...call, gas: gas_limit })
  if (shortage) throw gasLimitTooLow(shortage)
  return gas_limit
}

function gasLimitTooLow({ needed, text }: GasShortage): DomainError {
  const message = needed === undefined ? `is too low: the transaction ${text}` : `must be at least ${needed}: ${soMuch}`
  return new DomainError('gas_limit_too_low', [inputFault(['gas_limit'], message.slice(0, 1_000))])
}

const soMuch = 'the nodes estimate so much for this transaction'

/** Throws DomainError (403 for the policy min_balance, else 400) when the balance is too low. */
export function checkFunds(relayer: RelayerRow, quote: TransactionQuote): void {
  const { policies } = relayer
  const { balance, funds, reserved, max_cost } = quote
  if (balance < BigInt(policies.min_balance ?? 0)) {
    const message = `The balance is ${balance} wei, which is below the required minimum of ${policies.min_balance} wei`
    throw refusedBy([{ of: 'policies', field: ['min_balance'], message }])
  }
  if (funds < max_cost + reserved) throw insufficientBalance(relayer, quote, reserved)
}

/** The DomainError (400) for a balance that is too low for the transaction and all unfinished ones. */
export function insufficientBalance(
  { address }: RelayerRow,
  { max_cost, balance, gas_limit, prices, market, data_fee }: TransactionQuote,
  reserved: bigint,
): DomainError {
  const others = reserved > 0n ? `; accepted transactions that are not mined yet cost up to ${reserved} wei of it` : ''
  const fee = feeOf({ gas_limit, prices, data_fee })
  // No quoted price is above the market's for the fastest: the request gave this one.
  const isPriceGiven = 2n * fee > max_cost && isAbove(prices, market, 'fastest', 1n)
  const price = prices.kind === 'legacy' ? 'gas_price' : 'max_fee_per_gas'
  return insufficientFunds(
    isPriceGiven ? price : 'value',
    `costs up to ${max_cost} wei, of which ${fee} wei are for ${gas_limit} gas at up to ${gwei(most(prices))}, and the balance of ` +
      `${checksummed(address)} is ${balance} wei${others}`,
  )
}

/** Turns a node's error into the DomainError for the caller; other errors are returned unchanged. */
export function asDomainError(
  error: unknown,
  relayer: RelayerRow,
  { network }: Pick<NetworkClient, 'network'>,
  fragments: string[] | null,
): unknown {
  const kind = rpcKindOf(error)
  if (kind === undefined) return error
  const { message } = error as Error
  if (kind === 'reverted') return reverts(revertText(error as Error, fragments), error)
  if (kind === 'insufficient_funds')
    return insufficientFunds('value', 'the balance does not cover the value and the gas')
  if (kind === 'gas_limit_too_low' || kind === 'gas_limit_too_high') return badRequest(['gas_limit'], message)
  if (kind === 'rejected') return badRequest([], message)
  const wrong = error instanceof RpcUnavailable ? error.wrong_chain : undefined
  return unavailable('network', wrong === undefined ? message : ofWrongChain(relayer, network, wrong))
}

/** Callers may not know the nodes: the network's page and the relayer's `disabled_reason` name them. */
function ofWrongChain({ custom_rpc_urls: own }: RelayerRow, { name, chain_id }: Network, wrong: bigint): string {
  const member = own.length > 0 ? 'custom_rpc_urls of the relayer' : 'rpc_urls of the network'
  return `The ${member} are on chain ${wrong}, and the chain_id of the network ${name} is ${chain_id}`
}

/** Decoded, also a custom error that the ABI of the request has; the node's message when it gives no reason. */
function revertText(error: Error, fragments: string[] | null): string {
  if (!(error instanceof RpcError)) return error.message
  const data = revertData(error.error)
  const reason = (fragments && data && decodeError(fragments, data)) || revertReason(error.error)
  return reason ? `execution reverted: ${reason}` : error.message
}

/** With its heading, as long as a message may be. */
const maxRevertText = 1_000 - 'would revert: '.length

/** The node's error is kept as the cause: it has the bytes of the revert. */
function reverts(message: string, cause: unknown): DomainError {
  const said = message.slice(0, maxRevertText)
  // Nodes head a reason with these words.
  const data = { revert_reason: said.replace(/^execution reverted(?:: )?/, '') }
  return Object.assign(new DomainError('execution_reverted', [inputFault([], `would revert: ${said}`)], data), {
    cause,
  })
}

const unavailable = (of: Subject, message: string) => errorOf('unavailable', of, message.slice(0, 1_000))

const disabled = ({ disabled_reason }: RelayerRow) =>
  unavailable('relayer', disabled_reason ?? 'The relayer was disabled for a moment; repeat the request')

export const defaultTier: Tier = 'average'

/**
 * The form and the prices of a request: the prices that it gives, and market prices for the others, up to the policies. Throws DomainError
 * (400) when lists, prices, type and chain do not belong together.
 */
function priceRequest(
  relayer: RelayerRow,
  request: TransactionRequest,
  market: Market,
): { type: TransactionType; prices: Prices } {
  const kind = kindOf(relayer, request, market)
  const type = request.type ?? typeOf(request, kind)
  if (type === undefined) {
    throw badRequest(['authorization_list'], 'needs a chain with a base fee, and no gas_price (EIP-7702)')
  }
  checkLists(type, request)
  const quoted = priceByTier(market, request.tier ?? defaultTier, kind)
  const prices = capPrices(applyMaxFee(quoted, requestedCeiling(request)), capOf(relayer))
  // An assertion: it throws for a combination that the checks above should have refused.
  formOf(type, request, prices)
  return { type, prices }
}

function kindOf({ policies }: RelayerRow, request: TransactionRequest, market: Market): PriceKind {
  const { gas_price, max_fee_per_gas, max_priority_fee_per_gas, type } = request
  const isTipped = max_fee_per_gas !== null || max_priority_fee_per_gas !== null
  const isLegacy = gas_price !== null || policies.eip1559_pricing === false
  if (isTipped && (isLegacy || market.kind === 'legacy')) {
    const why = isLegacy ? 'the policy eip1559_pricing is off' : 'the chain has no base fee'
    const given = max_fee_per_gas === null ? 'max_priority_fee_per_gas' : 'max_fee_per_gas'
    throw badRequest([given], `cannot be given: ${why}`)
  }
  if (type === null) return isLegacy ? 'legacy' : market.kind
  const kind = priceKindOf(type)
  if (kind === 'legacy' && isTipped) throw badRequest(['type'], `must be 2 or 4 with max_fee_per_gas; it is ${type}`)
  if (kind === 'eip1559' && gas_price !== null)
    throw badRequest(['type'], `must be 0 or 1 with gas_price; it is ${type}`)
  if (kind === 'eip1559' && market.kind === 'legacy') {
    throw badRequest(['type'], `must be 0 or 1: the chain has no base fee; it is ${type}`)
  }
  return kind
}

function checkLists(type: TransactionType, { access_list, authorization_list }: TransactionRequest): void {
  if (authorization_list !== null && type !== 4) {
    throw badRequest(['type'], `must be 4 with authorization_list; it is ${type}`)
  }
  if (authorization_list === null && type === 4) {
    throw badRequest(['authorization_list'], 'must be given for type 4')
  }
  if (access_list !== null && type === 0) throw badRequest(['access_list'], 'cannot be given for type 0')
}

interface Funds {
  balance: bigint
  /** The most that all unfinished transactions and a new one may cost together, in wei. */
  funds: bigint
  account: Awaited<ReturnType<Store['getAccount']>>
}

/**
 * The funds of accounts. The cost of a mined transaction leaves the balance at once, and the reserved sum only when its receipt
 * is seen. In between it must not count twice, and an older balance must not include amounts that were spent since.
 */
export class AccountFunds {
  readonly #store: Store
  /** The funds when a remembered snapshot was first used. */
  readonly #first = new WeakMap<AccountSnapshot, Promise<Funds>>()

  constructor(store: Store) {
    this.#store = store
  }

  /** The funds by a snapshot that was just taken. */
  async at({ chain_id, address }: RelayerRow, { latest, balance }: AccountSnapshot): Promise<Funds> {
    const { committed, ...account } = await this.#store.accountAt({ chain_id, address }, latest)
    return { balance, funds: balance - BigInt(committed) + BigInt(account.reserved), account }
  }

  /** The funds by a snapshot that is remembered for a second. */
  async byMemory(relayer: RelayerRow, remembered: AccountSnapshot): Promise<Funds> {
    const known = this.#first.get(remembered) ?? this.at(relayer, remembered)
    this.#first.set(remembered, known)
    const before = await known
    const account = await this.#store.getAccount(relayer.chain_id, relayer.address)
    const released = BigInt(account.released) - BigInt(before.account.released)
    return { balance: before.balance, funds: before.funds - released, account }
  }
}
