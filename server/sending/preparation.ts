import { ApiError, badRequest, insufficientFunds, refusedBy } from '../errors.ts'
import { capOf } from '../policies/fee-policies.ts'
import type { RelayerRow } from '../store/rows.ts'
import type { TransactionRow } from '../store/sending-rows.ts'
import type { TransactionRequest } from './admission.ts'
import { checkAuthorizations } from './authorizations.ts'
import type { Market, NetworkClient, Prices, SendingDependencies, Tier } from './dependencies.ts'
import { createFundsReader, type Funds } from './funds.ts'
import type { Nonces } from './nonces.ts'

export const default_tier: Tier = 'average'
const estimate_percent = 110
const transfer_gas = 21_000
/** The most gas of one transaction, on chains with EIP-7825. */
const max_transaction_gas = 2 ** 24

/** The chain's view of a transaction, before it gets a nonce. Amounts are in wei. */
export interface Quote {
  gas_limit: number
  prices: Prices
  market: Market
  /** The value plus the gas limit at the highest price. */
  max_cost: bigint
  balance: bigint
  /** The most that it and all unfinished transactions may cost together (funds.ts). */
  funds: bigint
  /** The most that the account's other unfinished transactions can still cost. */
  reserved: bigint
  /** The account's transaction count on chain, and the nonce counter. */
  latest: number
  next_nonce: number
}

export interface Preparation {
  /**
   * Asks the chain. Throws ApiError: 400 for a transaction that would fail, 503 for a chain that does not answer. `replaced`: the
   * transaction that it replaces.
   */
  quote(relayer: RelayerRow, request: TransactionRequest, replaced?: TransactionRow): Promise<Quote>
}

type PreparationDependencies = Pick<
  SendingDependencies,
  'store' | 'fees' | 'networkClient' | 'kindOf' | 'wrongChain' | 'authorityOf'
> & {
  nonces: Nonces
}

export function createPreparation(dependencies: PreparationDependencies): Preparation {
  const { store, fees, nonces } = dependencies
  const readFunds = createFundsReader(store)

  async function networkClientOf(relayer: RelayerRow): Promise<NetworkClient> {
    const networkClient = await dependencies.networkClient(relayer)
    if (!networkClient) throw unavailable('network', 'The network of the relayer was deleted')
    return networkClient
  }

  async function quote(relayer: RelayerRow, request: TransactionRequest, replaced?: TransactionRow): Promise<Quote> {
    checkAuthorizations(relayer, request.authorization_list, dependencies.authorityOf)
    const networkClient = await networkClientOf(relayer)
    try {
      const before = await store.getAccount(relayer.chain_id, relayer.address)
      const [known, market, gas_limit] = await Promise.all([
        networkClient.funds(relayer.address),
        networkClient.market(),
        request.gas_limit ?? estimateGas(relayer, networkClient, request),
      ])
      // A disabled relayer is enabled again when its chain is the right one.
      if (!(await nonces.compare(relayer, networkClient, known.latest))) throw disabled(await current(relayer))
      const prices = priceOf(relayer, request, market)
      const max_cost = BigInt(request.value) + BigInt(gas_limit) * fees.most(prices)
      const { min_balance = '0' } = relayer.policies
      const remembered = await readFunds.byMemory(relayer, known, before)
      const own = BigInt(replaced?.reserved ?? 0)
      const suffices = ({ funds, account }: Funds) => funds >= max_cost + BigInt(account.reserved) - own
      // The account may just have been funded, so a cached balance refuses nothing.
      const isEnough = suffices(remembered) && remembered.funds >= BigInt(min_balance)
      const { balance, funds, account } = isEnough ? remembered : await readFunds.byChain(relayer, networkClient.chain)
      const reserved = BigInt(account.reserved) - own
      if (balance < BigInt(min_balance)) {
        await store.noteBalance(relayer.row_id, balance.toString(), min_balance, true)
      }
      return {
        gas_limit,
        prices,
        market,
        max_cost,
        balance,
        funds,
        reserved,
        latest: known.latest,
        next_nonce: account.next_nonce,
      }
    } catch (error) {
      const wrong = dependencies.wrongChain(error)
      if (wrong !== undefined) await nonces.disableWrongChain(relayer, wrong)
      throw told(error, dependencies)
    }
  }

  const current = async (relayer: RelayerRow) => (await store.getRelayerByRowId(relayer.row_id)) ?? relayer

  async function estimateGas(
    { address, policies }: RelayerRow,
    networkClient: NetworkClient,
    request: TransactionRequest,
  ): Promise<number> {
    if (policies.gas_limit_estimation === false) {
      throw badRequest('/body/gas_limit', 'must be given: the policy gas_limit_estimation is off')
    }
    const { to, data, access_list, authorization_list } = request
    const call = { from: address, to, value: BigInt(request.value), data, access_list, authorization_list }
    const [estimate, block_gas] = await Promise.all([
      networkClient.callers.estimateGas(call),
      networkClient.blockGasLimit(),
    ])
    return withMargin(estimate, block_gas)
  }

  function priceOf(relayer: RelayerRow, request: TransactionRequest, market: Market): Prices {
    const { gas_price, max_fee_per_gas, max_priority_fee_per_gas } = request
    const legacy = gas_price !== null || relayer.policies.eip1559_pricing === false
    const tipped = max_fee_per_gas !== null || max_priority_fee_per_gas !== null
    if (tipped && (legacy || market.kind === 'legacy')) {
      const why = legacy ? 'the policy eip1559_pricing is off' : 'the chain has no base fee'
      const given = max_fee_per_gas === null ? 'max_priority_fee_per_gas' : 'max_fee_per_gas'
      throw badRequest(`/body/${given}`, `cannot be given: ${why}`)
    }
    if (request.authorization_list !== null && (legacy || market.kind === 'legacy')) {
      throw badRequest('/body/authorization_list', 'needs a chain with a base fee, and no gas_price (EIP-7702)')
    }
    const quoted = fees.quote(market, request.tier ?? default_tier, legacy)
    if (quoted.kind === 'legacy') {
      return fees.limit({ kind: 'legacy', gas_price: BigInt(gas_price ?? quoted.gas_price) }, capOf(relayer))
    }
    const tip = BigInt(max_priority_fee_per_gas ?? quoted.max_priority_fee_per_gas)
    const room = quoted.max_fee_per_gas - quoted.max_priority_fee_per_gas
    const most = BigInt(max_fee_per_gas ?? room + tip)
    const prices = {
      kind: 'eip1559',
      max_fee_per_gas: most,
      max_priority_fee_per_gas: tip < most ? tip : most,
    } as const
    return fees.limit(prices, capOf(relayer))
  }

  return { quote }
}

/**
 * The gas limit for an estimate: 10 % more, because the state may change before the transaction is mined. The cost of a plain
 * transfer is fixed. The margin never exceeds the block's gas limit or EIP-7825's limit.
 */
export function withMargin(estimate: number, block_gas: number | undefined): number {
  if (estimate === transfer_gas) return estimate
  const limits = [block_gas ?? Number.POSITIVE_INFINITY, max_transaction_gas].filter((limit) => limit >= estimate)
  return Math.min(Math.ceil((estimate * estimate_percent) / 100), ...limits)
}

/** Throws ApiError (403 for the policy min_balance, else 400) when the balance is too low. */
export function checkFunds({ policies }: RelayerRow, quote: Quote): void {
  const { balance, funds, reserved, max_cost } = quote
  if (balance < BigInt(policies.min_balance ?? 0)) {
    const message = `The balance is ${balance}, which is below the required minimum of ${policies.min_balance}`
    throw refusedBy([{ path: 'policies/min_balance', message }])
  }
  if (funds < max_cost + reserved) throw tooLittle(quote, reserved)
}

/** The ApiError (400) for a balance that is too low for the transaction and all unfinished ones. */
export function tooLittle({ max_cost, balance }: Quote, reserved: bigint): ApiError {
  const others = reserved > 0n ? `; accepted transactions that are not mined yet cost up to ${reserved} of it` : ''
  return insufficientFunds(`costs up to ${max_cost} wei with gas, and the balance is ${balance}${others}`)
}

/** Turns a node's error into the ApiError for the caller; other errors are returned unchanged. */
function told(error: unknown, { kindOf, wrongChain }: PreparationDependencies): unknown {
  const kind = kindOf(error)
  if (kind === undefined) return error
  const { message } = error as Error
  if (kind === 'reverted') return reverts(message, error)
  if (kind === 'insufficient_funds') return insufficientFunds('the balance does not cover the value and the gas')
  if (kind === 'gas_limit_too_low' || kind === 'gas_limit_too_high') return badRequest('/body/gas_limit', message)
  if (kind === 'rejected') return badRequest('/body', message)
  const wrong = wrongChain(error)
  return unavailable(
    'network',
    wrong === undefined ? message : `The nodes of the network are on another chain (${wrong})`,
  )
}

/** The node's error is kept as the cause: it has the bytes of the revert. */
function reverts(message: string, cause: unknown): ApiError {
  const details = [{ path: '/body', message: `would revert: ${message}`.slice(0, 1_000) }]
  return Object.assign(new ApiError('execution_reverted', 'Bad Request', details), { cause })
}

const unavailable = (path: string, message: string) =>
  new ApiError('unavailable', 'Service Unavailable', [{ path, message: message.slice(0, 1_000) }])

const disabled = ({ disabled_reason }: RelayerRow) =>
  unavailable('relayer', disabled_reason ?? 'The relayer is disabled')
