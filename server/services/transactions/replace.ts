import { isDeepStrictEqual } from 'node:util'
import type { ReplaceTransactionRequest, SpeedUpTransactionRequest, Transaction } from '../../../generated/openapi.ts'
import { highestTaken, nextPrices } from '../../domain/attempts.ts'
import { readCall } from '../../domain/decoding/decoded-call.ts'
import {
  badRequest,
  DomainError,
  type Fault,
  inputFault,
  invalidTransaction,
  transactionNotFound,
} from '../../domain/errors.ts'
import {
  applyMaxFee,
  atLeastPrices,
  bump,
  type Ceiling,
  capPrices,
  ceilingColumns,
  type FeeMarketPrices,
  gwei,
  isEnough,
  limitTo,
  minReplacementFee,
  most,
  noCeiling,
  type Prices,
  priceByTier,
  priceColumns,
  pricesOf,
  tierOf,
  under,
} from '../../domain/fees.ts'
import type { Once } from '../../domain/new-transaction.ts'
import { checkOwnTransaction } from '../../domain/policies/budgets.ts'
import { capOf, checkFees, feeOf } from '../../domain/policies/fee-policies.ts'
import { spendingOf } from '../../domain/policies/transaction-policies.ts'
import { type IfMatch, requireRevision } from '../../domain/revision.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import { revisionOfContent, shownTransaction } from '../../domain/show.ts'
import { isUnmined, stateText } from '../../domain/statuses.ts'
import { replacedSubmission } from '../../domain/submission.ts'
import type { TransactionType } from '../../domain/transaction-form.ts'
import {
  checkPriorityFee,
  contentOfRow,
  readTransactionRequest,
  type TransactionRequest,
} from '../../domain/transaction-request.ts'
import {
  changesOfContent,
  type TransactionRow,
  type TransactionUpdate,
  type WholeTransactionRow,
  withEntry,
} from '../../domain/transaction-rows.ts'
import { readAmount } from '../../domain/values.ts'
import type { Store } from '../../store/store.ts'
import type { ServicesContext } from '../context.ts'
import { capacityOf, checkPause, isPriced, requestedCeiling } from './check-request.ts'
import { costColumns, defaultTier, type TransactionQuote } from './quote.ts'
import {
  type Asker,
  hashOfBody,
  type Prepared,
  prepare,
  type TransactionsContext,
  unwrapInsert,
  unwrapReplay,
} from './send.ts'

/** What becomes of a transaction that is in no block. */
interface Change {
  transactionId: string
  /** Its request from now on, by its row of this moment. Throws DomainError. */
  requestOf(row: WholeTransactionRow): TransactionRequest
  /** Given: only the prices change, up to these, and nothing of the content is written. */
  ceiling?: Ceiling
  /** A repeated request with this key gets the first one's answer. */
  once?: Once | undefined
}

type ChangeContext = TransactionsContext & Pick<ServicesContext, 'pollNow'>

/** Replaces the content or the prices of a transaction that is in no block; its nonce stays. */
export function replace(
  context: ChangeContext,
  asker: Asker,
  relayerId: string,
  {
    transactionId,
    body,
    ifMatch,
    once,
  }: Pick<Change, 'transactionId' | 'once'> & { body: ReplaceTransactionRequest; ifMatch: IfMatch | undefined },
): Promise<Transaction> {
  let request: TransactionRequest | undefined
  const requestOf = (row: WholeTransactionRow) => {
    checkContent(body)
    checkMadeFrom(row, body, ifMatch)
    request ??= readTransactionRequest(body)
    return request
  }
  return changeTransaction(context, asker, relayerId, { transactionId, requestOf, once })
}

/** Signs it again at other prices, or with another content; its nonce stays. Throws DomainError. */
export async function changeTransaction(
  context: ChangeContext,
  asker: Asker,
  relayerId: string,
  change: Change,
): Promise<Transaction> {
  const { store, keyring } = context
  const { once } = change
  const found = await keyring.findRelayer(relayerId)
  const replayed = once && (await store.replay(found.row_id, once))
  if (replayed) return withoutWarnings(unwrapReplay(replayed, asker.auditEntry))
  checkPause(found)
  let prepared: (Prepared & { request: TransactionRequest }) | undefined

  // Another request or the sender may change the row while the chain answers; then it is read again.
  for (;;) {
    const row = await findOpen(store, found, change.transactionId)
    const request = change.requestOf(row)
    if (!prepared || !isDeepStrictEqual(prepared.request, request)) {
      prepared = { ...(await prepare(context, asker, { relayer: found, request, replaced: row })), request }
      continue
    }
    const { relayer, budget } = prepared
    checkOwnTransaction(budget, row.caller)
    const quote = { ...prepared.quote, prices: await newPrices(store, row, prepared, change.ceiling) }
    checkDifference(relayer, row, request, quote)
    checkFees(relayer, quote)
    const move = updateOf(row, request, quote, change.ceiling)
    move.set.history = withEntry(row.history, {
      occurred_at: new Date(context.now()).toISOString(),
      event: change.ceiling ? 'sped_up' : 'replaced',
      caller: asker.auditEntry.caller,
      changes: change.ceiling ? [] : changesOfContent(row, request),
    })
    move.set.submission = replacedSubmission(row, request.submission && quote.submission, {
      isSigned: row.status !== 'pending',
      now: context.now(),
    })
    const limits = {
      spending: spendingOf(relayer, request, { fee: feeOf(quote), budget }),
      capacity: capacityOf(relayer),
    }
    const moved = await store.replaceTransaction(move, { ...limits, once }, asker.auditEntry)
    if (!moved) continue
    if ('outcome' in moved) return withoutWarnings(unwrapInsert(moved, { relayer, quote }, asker.auditEntry))
    context.wake(relayer.row_id)
    context.pollNow(relayer.row_id)
    return shownTransaction({ ...moved, data: request.data })
  }
}

const withoutWarnings = ({ warnings: _, ...transaction }: Transaction): Transaction => transaction

/** The prices of the next version. Throws DomainError (400, 409) when there is no room for them. */
async function newPrices(
  store: Store,
  row: WholeTransactionRow,
  { relayer, quote, request }: Prepared & { request: TransactionRequest },
  ceiling: Ceiling | undefined,
): Promise<Prices> {
  const attempts = await store.attempts(row.row_id)
  const before = highestTaken(attempts, row.nonce)
  if (before) return atLeast(before, request, { relayer, quote, ceiling }, row)
  const cap = capOf(relayer, quote.gas_limit, quote.data_fee)
  const next = isPriced(request) ? undefined : nextPrices(attempts, row.nonce, quote.prices, under(noCeiling, cap))
  const asked = next ?? quote.prices
  if (!ceiling) return asked
  // What another sender has put into the pool may cost more than the market.
  return row.wait_reason === 'nonce_conflict' ? capPrices(applyMaxFee(asked, ceiling), cap) : limitTo(asked, ceiling)
}

function updateOf(
  row: WholeTransactionRow,
  request: TransactionRequest,
  quote: TransactionQuote,
  ceiling: Ceiling | undefined,
): TransactionUpdate {
  const tier = request.tier ?? defaultTier
  const highest = ceiling ?? requestedCeiling(request)
  const isPriced = highest.fee !== undefined || highest.tip !== undefined
  return {
    row_id: row.row_id,
    revision: row.revision,
    set: {
      ...(!ceiling && contentColumns(row, request, quote)),
      gas_limit: quote.gas_limit,
      ...costColumns(quote),
      resign: row.status !== 'pending',
      ...ceilingColumns(highest),
      // Prices at a nonce that another sender uses in the pool: the caller's word to pay more than that one.
      replaces_external: row.replaces_external || (row.wait_reason === 'nonce_conflict' && isPriced),
      ...priceColumns(quote.prices),
      speed: tier,
      status_reason: null,
    },
  }
}

function contentColumns(
  row: WholeTransactionRow,
  request: TransactionRequest,
  quote: TransactionQuote,
): TransactionUpdate['set'] {
  const { to, value, data, valid_until, access_list, authorization_list, reference, metadata } = request
  const fragments = quote.fragments ?? (data === row.data ? row.fragments : null)
  return {
    fragments,
    call: readCall(fragments, data),
    to,
    value,
    data,
    access_list,
    authorization_list,
    replacements: row.replacements + 1,
    gas_is_given: request.gas_limit !== null,
    is_sweep: false,
    type: quote.type,
    ...(valid_until !== undefined && { valid_until }),
    ...(reference !== undefined && { reference }),
    ...(metadata !== undefined && { metadata }),
  }
}

/** Throws DomainError (404, 409). */
async function findOpen(store: Store, relayer: RelayerRow, transactionId: string): Promise<WholeTransactionRow> {
  const row = await store.getTransaction(relayer.row_id, transactionId)
  if (!row) throw transactionNotFound(transactionId)
  if (!isOpen(row)) throw invalidTransaction(`the transaction is ${stateText(row)}`)
  // Its user knows it by this id, and the sponsorship pays for this content up to `max_fee_per_call`.
  if (row.sponsored) throw invalidTransaction('the call of a sponsorship stays as it is, and can be canceled')
  return row
}

/**
 * Throws DomainError (412) when the content was replaced since the given revision, and (428) without one, unless the body states all of the
 * content and nobody has replaced it before: then the caller cannot have read another one. So do clients of the OpenZeppelin Relayer.
 */
function checkMadeFrom(row: WholeTransactionRow, body: ReplaceTransactionRequest, ifMatch: IfMatch | undefined): void {
  const revision = revisionOfContent(row)
  if (ifMatch === '*' || ifMatch?.includes(revision)) return
  if (ifMatch)
    throw new DomainError(
      'precondition_failed',
      [
        {
          of: 'if_match',
          field: [],
          message: 'the content was replaced since it was read; read the transaction again',
        },
        ...differences(row, readTransactionRequest(body)),
      ],
      { revision },
    )
  const { to, value, data, call } = body
  const statesAll = to !== undefined && value !== undefined && (data !== undefined || call !== undefined)
  if (!statesAll || row.replacements > 0) requireRevision(ifMatch, body, ['to', 'value', 'data', 'call'])
}

/** The members of the present content that a body does not have: those that were replaced since, and those that it changes. */
const differences = (row: WholeTransactionRow, request: TransactionRequest): Fault[] =>
  (['to', 'value', 'data', 'access_list', 'authorization_list'] as const)
    .filter((name) => !isDeepStrictEqual(row[name], request[name]))
    .map((name) => {
      const present = JSON.stringify(row[name])
      return { of: 'current', field: [name], message: `is ${present.length > 100 ? 'another' : present} now` }
    })

/** Without any content, the caller meant to change the prices only. */
function checkContent({ to, value, data, call }: ReplaceTransactionRequest): void {
  if ([to, value, data, call].every((member) => member == null))
    throw badRequest([], 'must have the content (to, value, and data or call): a replacement repeats what stays')
}

const isOpen = ({ status, intent, block_hash }: TransactionRow): boolean =>
  intent === 'send' && block_hash === null && isUnmined(status)

/**
 * The prices of a replacement, in wei per unit of gas. They must be 10 % above `before`, the prices that a node has: given prices are
 * checked (DomainError 400), absent ones are raised. DomainError (409) when the policies leave no room for that.
 */
function atLeast(
  before: Prices,
  request: TransactionRequest,
  { relayer, quote, ceiling = noCeiling }: Omit<Prepared, 'budget'> & { ceiling: Ceiling | undefined },
  row: TransactionRow,
): Prices {
  const { prices, market, gas_limit, data_fee } = quote
  const least = minReplacementFee(before, prices.kind)
  if (isPriced(request)) {
    const raised = raiseTip(prices, least, request)
    if (isEnough(raised, least)) return raised
    const message = `must pay at least 10 % more for both fees than the transaction that it replaces: ${shown(least)}`
    throw badRequest([], message)
  }
  const cap = capOf(relayer, gas_limit, data_fee)
  const asked = priceByTier(market, request.tier ?? tierOf(row), prices.kind)
  const raised = bump(before, asked, under(ceiling, cap))
  if (raised) return raised
  // Also with the policies alone: the ceiling is what forbids it.
  if (bump(before, asked, cap)) throw aboveCeiling(least, ceiling)
  throw capped(
    `Replacing it takes a price of at least ${gwei(most(least))}, and its tier asks for ${gwei(most(asked))}`,
    cap,
  )
}

/** A priority fee that the request leaves out, beside a highest price, is raised to what replaces. */
function raiseTip(prices: Prices, least: Prices, request: TransactionRequest): Prices {
  const isGiven = request.max_fee_per_gas === null || request.max_priority_fee_per_gas !== null
  if (isGiven || prices.kind === 'legacy' || least.kind === 'legacy') return prices
  const { max_priority_fee_per_gas } = atLeastPrices(prices, least) as FeeMarketPrices
  return limitTo({ ...prices, max_priority_fee_per_gas }, { fee: undefined, tip: prices.max_fee_per_gas })
}

function aboveCeiling(least: Prices, { fee }: Ceiling): DomainError {
  const needed = tipOf(least)
  const [field, price] =
    fee !== undefined && fee < most(least) ? ['max_fee_per_gas', most(least)] : ['max_priority_fee_per_gas', needed]
  return new DomainError('invalid_state', [
    inputFault(
      [`${field}`],
      `is below ${gwei(price)}, the least that replaces the signed version. Nothing was changed`,
    ),
  ])
}

/** Throws DomainError (409) when the replacement would be the very bytes that are signed already. */
function checkDifference(
  relayer: RelayerRow,
  row: WholeTransactionRow,
  request: TransactionRequest,
  { type, prices, gas_limit, data_fee, market }: TransactionQuote,
): void {
  const signed = pricesOf(row)
  if (row.hash === null || !signed) return
  const isSame =
    type === row.type &&
    most(signed) === most(prices) &&
    tipOf(signed) === tipOf(prices) &&
    gas_limit === row.gas_limit &&
    request.to === row.to &&
    request.value === row.value &&
    request.data === row.data &&
    JSON.stringify([request.access_list, request.authorization_list]) ===
      JSON.stringify([row.access_list, row.authorization_list])
  if (!isSame) return
  const asked = most(priceByTier(market, request.tier ?? tierOf(row), prices.kind))
  const change = `It would be the same transaction at the same price of ${gwei(most(prices))}; its tier asks for ${gwei(asked)}`
  throw capped(change, capOf(relayer, gas_limit, data_fee))
}

const tipOf = (prices: Prices) => (prices.kind === 'legacy' ? prices.gas_price : prices.max_priority_fee_per_gas)

const capped = (message: string, cap: bigint | undefined) =>
  new DomainError('invalid_state', [
    {
      of: 'policies',
      field: ['gas_price_cap'],
      message:
        cap === undefined
          ? `${message}. Nothing was changed`
          : `${message}; the policies allow at most ${gwei(cap)}. Nothing was changed`,
    },
  ])

/** The reason why prices are too low to replace the transaction at a nonce that a caller gave; undefined: they suffice. */
export function underpriced(
  row: Parameters<typeof pricesOf>[0] & { type: TransactionType },
  body: ReplaceTransactionRequest,
): string | undefined {
  const before = pricesOf(row)
  if (!before) return undefined
  const { gas_price, max_fee_per_gas: fee, max_priority_fee_per_gas: tip } = body
  const text = (amount: string | number | null | undefined) => (amount == null ? null : `${amount}`)
  const given = pricesOf({
    gas_price: text(gas_price),
    max_fee_per_gas: text(fee),
    max_priority_fee_per_gas: text(tip),
  })
  const least = minReplacementFee(before, given?.kind)
  if (given && isEnough(given, least)) return undefined
  return `to replace it, give prices at least 10 % higher: ${shown(least)}`
}

const shown = (least: Prices): string =>
  least.kind === 'legacy'
    ? `gas_price ${least.gas_price}`
    : `max_fee_per_gas ${least.max_fee_per_gas}, max_priority_fee_per_gas ${least.max_priority_fee_per_gas}`

/** Signs the same content again at a higher price. The content is that of the row which the price is written to. */
export function speedUp(
  context: TransactionsContext & Pick<ServicesContext, 'pollNow'>,
  asker: Asker,
  relayerId: string,
  { transactionId, body }: { transactionId: string; body: SpeedUpTransactionRequest },
): Promise<Transaction> {
  const ceiling = readCeiling(body)
  const { idempotency } = asker
  return changeTransaction(context, asker, relayerId, {
    transactionId,
    requestOf: (row) => requestOf(row, body),
    ceiling,
    once: idempotency && { ...idempotency, body_hash: hashOfBody({ ...body, speed_up: transactionId }) },
  })
}

/** Throws DomainError (400). */
function readCeiling({ max_fee_per_gas, max_priority_fee_per_gas }: SpeedUpTransactionRequest): Ceiling {
  const read = (amount: SpeedUpTransactionRequest['max_fee_per_gas'], name: string) =>
    amount == null ? undefined : BigInt(readAmount(amount, [name]))
  const fee = read(max_fee_per_gas, 'max_fee_per_gas')
  const tip = read(max_priority_fee_per_gas, 'max_priority_fee_per_gas')
  if (fee !== undefined && tip !== undefined) checkPriorityFee(fee, tip)
  return { fee, tip }
}

const requestOf = (row: WholeTransactionRow, { speed }: SpeedUpTransactionRequest): TransactionRequest => ({
  ...contentOfRow(row),
  type: row.type,
  tier: speed ?? 'fastest',
  gas_price: null,
  max_fee_per_gas: null,
  max_priority_fee_per_gas: null,
  // The stored ones stay.
  valid_until: undefined,
  reference: undefined,
  metadata: undefined,
  submission: undefined,
  deduplication_id: null,
})
