import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { SendTransactionRequest, Transaction, TransactionWarning } from '../../../generated/openapi.ts'
import { readCall } from '../../domain/decoding/decoded-call.ts'
import { alreadySent, conflict, DomainError, errorOf, relayerNotFound, wrongNonce } from '../../domain/errors.ts'
import { ceilingColumns, gwei, most, priceByTier, priceColumns } from '../../domain/fees.ts'
import type {
  InsertRefusal,
  InsertResult,
  InsertSuccess,
  Mismatch,
  NewTransaction,
  Replay,
} from '../../domain/new-transaction.ts'
import type { NodeAccess } from '../../domain/node-access.ts'
import type { Idempotency } from '../../domain/operation.ts'
import type { KeyBudget } from '../../domain/policies/budgets.ts'
import { checkFees, feeOf } from '../../domain/policies/fee-policies.ts'
import { overLimit, spendingOf } from '../../domain/policies/transaction-policies.ts'
import type { PendingAuditEntry, RelayerRow } from '../../domain/rows.ts'
import { readTransactionRequest, type TransactionRequest } from '../../domain/transaction-request.ts'
import {
  capacityOf,
  checkPause,
  checkRequest,
  dataBytes,
  isPriced,
  requestedCeiling,
  tooMany,
} from './check-request.ts'
import type { OrderContext } from './pick-relayer.ts'
import {
  checkFunds,
  costColumns,
  defaultTier,
  insufficientBalance,
  type QuoteContext,
  type QuoteInput,
  quoteTransaction,
  type TransactionQuote,
  unlimited,
} from './quote.ts'

/** What sending needs, for requests and for background work. */
export interface TransactionsContext extends QuoteContext, OrderContext {
  /** Starts the background work of the relayer, and wakes requests that wait for a status. */
  wake(relayerRowId: number): void
  makeId(): string
  /** Milliseconds since the epoch. */
  now(): number
}

/** Who asks for a transaction: a caller of the API, or background work. */
export interface Asker<Rights = unknown> {
  /** Checks the rights of the caller as they are now. Throws DomainError (401, 403, 404). */
  authorize(): Promise<Rights>
  nodes: NodeAccess
  auditEntry: PendingAuditEntry
  idempotency?: Idempotency | undefined
}

type Authorizing = Pick<Asker, 'nodes' | 'authorize' | 'auditEntry'>

/** Changes a transaction before it is accepted: other limits count it too. Throws DomainError. */
export type Complete = (transaction: NewTransaction, quote: TransactionQuote, relayer: RelayerRow) => NewTransaction

export const unchanged: Complete = (transaction) => transaction

/** `budget`: of the caller's API key. */
export interface Prepared {
  relayer: RelayerRow
  budget: KeyBudget | undefined
  quote: TransactionQuote
}

/** Accepts a transaction: every check that can fail early, and then one database transaction that assigns the nonce. */
export async function send(
  context: TransactionsContext,
  asker: Asker,
  relayerId: string,
  /** `nonce`: the one that it must get; throws `wrongNonce` when another one is next. */
  { body, nonce, complete = unchanged }: { body: SendTransactionRequest; nonce?: number; complete?: Complete },
): Promise<Transaction> {
  const { store, keyring } = context
  const { idempotency, auditEntry } = asker
  const found = await keyring.findRelayer(relayerId)
  // A repeated request gets its first response, even if the relayer was changed since.
  const once = idempotency && { body_hash: hashOfBody(body, nonce), ...idempotency }
  if (once) {
    const replayed = await store.replay(found.row_id, once)
    if (replayed) return unwrapReplay(replayed, auditEntry)
  }
  checkPause(found)
  // An early check, for a nonce that is used already. The commit checks again.
  if (nonce !== undefined) {
    const { next_nonce } = await store.getAccount(found.chain_id, found.address)
    if (nonce < next_nonce) throw wrongNonce(next_nonce)
  }
  const request = readTransactionRequest(body)
  // An early check, before the chain is asked. The commit checks again.
  const exceeded = await store.exceededCapacity(found.row_id, dataBytes(request), capacityOf(found))
  if (exceeded) throw tooMany(exceeded)
  const prepared = await prepare(context, asker, { relayer: found, request })
  const { relayer, quote } = prepared

  const transaction = complete(newTransaction(context, prepared, request), quote, relayer)
  const creation = await store.createTransaction(
    {
      ...transaction,
      ...(once && { idempotency: once }),
      ...(nonce !== undefined && { expected_nonce: nonce }),
    },
    auditEntry,
  )
  const accepted = unwrapInsert(creation, prepared, auditEntry)
  context.wake(relayer.row_id)
  return accepted
}

/** How often the nodes are asked for a transaction whose relayer gets other policies each time before they answer. */
export const maxQuotes = 3

/**
 * Runs the checks before the commit. The relayer and the rights of the caller may change while the chain answers, so their last state
 * is checked. Policies shape the prices, the form, the gas and the cost of a quote: after a change of them the chain is asked again, so
 * that no policy judges a quote that was made by another one. Throws DomainError.
 */
export async function prepare(context: TransactionsContext, asker: Authorizing, wanted: QuoteInput): Promise<Prepared> {
  let { relayer } = wanted
  const readBudget = () => context.budgets.ofCaller(asker.auditEntry.caller)
  let budget = await readBudget()
  for (let count = 0; count < maxQuotes; count += 1) {
    checkRequest(relayer, wanted.request, { now: context.now(), budget, isNew: isNew(wanted) })
    const quote = await quoteTransaction(context, asker.nodes, { ...wanted, relayer })
    // They read the generation at the same time.
    const [current, newest] = await Promise.all([
      context.keyring.findRelayer(relayer.id),
      readBudget(),
      asker.authorize(),
    ])
    if (hasSameRules(relayer, current)) return checkAgain(context, quote, { ...wanted, relayer: current }, newest)
    relayer = current
    budget = newest
  }
  throw keepsChanging()
}

/** Checks what was prepared by the newest state of its relayer, which `wanted` has. */
export async function recheck(
  context: TransactionsContext,
  asker: Authorizing,
  { relayer: before, quote }: Prepared,
  wanted: QuoteInput,
): Promise<Prepared> {
  if (!hasSameRules(before, wanted.relayer)) return prepare(context, asker, wanted)
  return checkAgain(context, quote, wanted, await context.budgets.ofCaller(asker.auditEntry.caller))
}

const hasSameRules = (before: RelayerRow, now: RelayerRow): boolean =>
  before === now || isDeepStrictEqual([before.policies, before.coin_token], [now.policies, now.coin_token])

export const keepsChanging = () =>
  errorOf('unavailable', 'relayer', 'its policies changed each time before the nodes answered; try again later', {
    retry_after_s: 1,
  })

function checkAgain(
  context: TransactionsContext,
  quote: TransactionQuote,
  wanted: QuoteInput,
  budget: KeyBudget | undefined,
): Prepared {
  const { relayer, request } = wanted
  checkRequest(relayer, request, { now: context.now(), budget, isNew: isNew(wanted) })
  checkFees(relayer, quote)
  checkFunds(relayer, quote)
  return { relayer, budget, quote }
}

const isNew = ({ replaced, is_sweep }: QuoteInput): boolean => replaced === undefined && !is_sweep

export function newTransaction(
  { makeId }: TransactionsContext,
  { relayer, budget, quote }: Prepared,
  request: TransactionRequest,
): NewTransaction {
  const spending = spendingOf(relayer, request, { fee: feeOf(quote), budget })
  const tier = request.tier ?? defaultTier
  return {
    id: makeId(),
    relayer_row_id: relayer.row_id,
    network: relayer.network,
    relayer_id: relayer.id,
    chain_id: relayer.chain_id,
    from: relayer.address,
    to: request.to,
    value: request.value,
    data: request.data,
    gas_limit: quote.gas_limit,
    gas_is_given: request.gas_limit !== null,
    ...costColumns(quote),
    type: quote.type,
    ...ceilingColumns(requestedCeiling(request)),
    ...priceColumns(quote.prices),
    speed: tier,
    valid_until: request.valid_until ?? null,
    reference: request.reference ?? null,
    deduplication_id: request.deduplication_id,
    ordering_key: request.ordering_key,
    fragments: quote.fragments,
    call: readCall(quote.fragments, request.data),
    metadata: request.metadata ?? null,
    submission: quote.submission,
    access_list: request.access_list,
    authorization_list: request.authorization_list,
    intent: 'send',
    status_reason: null,
    capacity: capacityOf(relayer),
    funds: quote.funds.toString(),
    warnings: warningsOf(relayer, request, quote),
    ...(spending.length > 0 && { spending }),
  }
}

/** Throws DomainError for what was refused. */
export function unwrapInsert(result: InsertResult, made: Offered, auditEntry: PendingAuditEntry): Transaction {
  if (!('row_id' in result)) throw refusalOfInsert(result, made)
  return recorded(result, auditEntry)
}

/** The first answer to a repeated request. Throws DomainError (422). */
export function unwrapReplay(result: Replay, auditEntry: PendingAuditEntry): Transaction {
  if (result.outcome === 'mismatch') throw mismatch(result)
  return recorded(result, auditEntry)
}

/** A repeated request is recorded with the transaction of the first one. */
function recorded(creation: InsertSuccess, auditEntry: PendingAuditEntry): Transaction {
  const { transaction } = creation
  auditEntry.replayed = creation.outcome === 'replayed'
  auditEntry.subject = transaction.id
  auditEntry.relayer_id = transaction.relayer_id
  return transaction
}

export const mismatch = ({ sent }: Mismatch): DomainError =>
  errorOf('idempotency_mismatch', 'idempotency_key', 'was used with another body', { transaction: sent })

/** What was offered to the store. */
type Offered = Pick<Prepared, 'relayer' | 'quote'>

export function refusalOfInsert(refused: InsertRefusal, { relayer, quote }: Offered): DomainError {
  switch (refused.outcome) {
    case 'mismatch':
      return mismatch(refused)
    case 'relayer_gone':
      return relayerNotFound(relayer.id)
    case 'too_little':
      return insufficientBalance(relayer, quote, BigInt(refused.reserved))
    case 'over_limit':
      return overLimit(refused)
    case 'at_capacity':
      return tooMany(refused)
    case 'other_nonce':
      return wrongNonce(refused.next_nonce)
    case 'already_sent':
      return alreadySent(refused.sent)
    case 'exclusive_key_taken':
      return conflict(
        'invalid_state',
        ['data'],
        'another call of this user waits, and a nonce orders them; send it afterwards',
      )
    case 'refilled':
      return errorOf('invalid_state', 'refill', 'another refill of the relayer was accepted')
    case 'held':
      return new DomainError('internal', 'Another transaction holds the next nonce')
  }
}

/** Serializes a body with sorted members, nested ones too, so that the order of members does not matter. */
export const hashOfBody = (body: object, nonce?: number): string =>
  createHash('sha256')
    .update(JSON.stringify(body, withSortedMembers))
    .update(nonce === undefined ? '' : `${nonce}`)
    .digest('hex')

/** A stored hash has the members in this form. */
const withSortedMembers = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    : value

/** The number of earlier transactions from which on the warning `long_queue` is given. */
const longQueue = 100

/** Warnings about an acceptable transaction: it may be mined late, or the next ones may be refused. */
export function warningsOf(
  { policies }: Pick<RelayerRow, 'policies'>,
  request: TransactionRequest,
  quote: TransactionQuote,
): TransactionWarning[] {
  const { prices, market, max_cost, reserved, balance, funds, latest, next_nonce, has_code } = quote
  const warnings: TransactionWarning[] = []
  const warn = (
    code: TransactionWarning['code'],
    message: string,
    waitReason: TransactionWarning['wait_reason'] = null,
  ) => warnings.push({ code, message, wait_reason: waitReason })

  const price = most(prices)
  const { gas_price_cap, min_balance } = policies
  const baseFee = market.kind === 'eip1559' ? market.base_fee : 0n
  const isCapped = gas_price_cap !== undefined && BigInt(gas_price_cap) < baseFee
  if (market.kind === 'eip1559' && price < market.base_fee) {
    const message = `The price ${gwei(price)} is below the current base fee ${gwei(market.base_fee)}: it cannot be mined before the base fee falls`
    warn('price_below_base_fee', message, isCapped ? 'price_cap' : isPriced(request) ? 'fee_too_low' : 'base_fee')
  }
  if (isCapped) {
    const message = `The policy gas_price_cap (${gwei(gas_price_cap)}) is below the current base fee ${gwei(baseFee)}: the service cannot raise its price far enough`
    warn('cap_below_base_fee', message, 'price_cap')
  }
  const asked = most(priceByTier(market, request.tier ?? defaultTier, prices.kind))
  if (gas_price_cap !== undefined && !isPriced(request) && asked > BigInt(gas_price_cap)) {
    warn(
      'price_limited_by_cap',
      `The price of its tier is ${gwei(asked)}, but the policy gas_price_cap allows only ${gwei(gas_price_cap)}`,
    )
  }
  if (balance === unlimited)
    warn('balance_not_checked', 'The network has the feature no_native_coin: what the account can pay is not checked')
  const left = funds - reserved - max_cost
  if (min_balance !== undefined && left < BigInt(min_balance)) {
    const message = `The balance may fall to ${left} wei; the policy min_balance refuses transactions below ${min_balance} wei`
    warn('low_balance_after', message)
  }
  const ahead = next_nonce - latest
  if (ahead >= longQueue) warn('long_queue', `${ahead} accepted transactions are ahead of it`, 'earlier_nonce')
  if (quote.waiting_nonce !== undefined && quote.waiting_nonce < next_nonce) {
    const message = `The transaction with nonce ${quote.waiting_nonce} comes first, and waits: this one is not mined before it`
    warn('earlier_waits', message, 'earlier_nonce')
  }
  if (has_code) {
    const message =
      "The relayer's address has code (EIP-7702): nodes accept only one unfinished transaction of such an account"
    warn('account_has_code', message, 'node')
  }
  if (quote.receiver_has_code === false)
    warn(
      'receiver_has_no_code',
      'No contract is at `to` now: the data has no effect there, and the transaction confirms all the same',
    )
  return warnings
}
