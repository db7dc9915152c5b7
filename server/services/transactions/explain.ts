import type { TransactionExplanation, TransactionOption, TransactionSuggestion } from '../../../generated/openapi.ts'
import { within } from '../../chain/chain.ts'
import {
  atLeastPrices,
  ceilingOf,
  type Market,
  minReplacementFee,
  most,
  type Prices,
  priceByTier,
  pricesOf,
  type Tier,
  tierOf,
} from '../../domain/fees.ts'
import type { NodeAccess } from '../../domain/node-access.ts'
import { capOf, multipleOf } from '../../domain/policies/fee-policies.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import { isOfPool } from '../../domain/show.ts'
import { isUnmined } from '../../domain/statuses.ts'
import { isPrivate } from '../../domain/submission.ts'
import { priceKindOf } from '../../domain/transaction-form.ts'
import type { TransactionRow, WholeTransactionRow } from '../../domain/transaction-rows.ts'
import { checksummed } from '../../domain/values.ts'
import { type ChainPace, nextStep, reasonToWait, waitForPrice } from '../../domain/wait-reason.ts'
import type { NetworkClient } from '../../sender/context.ts'
import type { Store } from '../../store/store.ts'
import type { ServicesContext } from '../context.ts'
import { optionsOf } from './options.ts'

/** The time limit for the answers of the nodes. */
const patienceMs = 2_000
/** The maximum age of the cached newest block. */
const maxAgeMs = 1_000

interface Asked {
  relayer: RelayerRow
  row: WholeTransactionRow
  /** Given when a pool asks: then of a blocking transaction only its nonce is told, unless that is the pool's too. */
  pool_row_id?: number | null
  /** The ceiling of `options`, in wei. */
  max_fee_per_gas?: string | undefined
}

/** Gathers the facts about a transaction, from the store and from the nodes, and explains it. */
export async function explainTransaction(
  { store, chains, now }: Pick<ServicesContext, 'store' | 'chains' | 'now'>,
  nodes: NodeAccess,
  { relayer, row, pool_row_id, max_fee_per_gas }: Asked,
): Promise<TransactionExplanation> {
  const [client, first] = await Promise.all([chains.clientFor(nodes, relayer), store.firstInLine(relayer.row_id)])
  const [seen, attempts] = await Promise.all([client && ask(client, relayer, row), store.attempts(row.row_id)])
  const facts: Facts = {
    relayer,
    first,
    isFirstSeen: first !== undefined && isOfPool(first, pool_row_id),
    attempts: attempts.length,
    market: seen?.market,
    head: seen?.head,
    balance: seen?.balance,
    next_nonce: seen?.next_nonce,
    now: now(),
    head_at: seen?.head_at,
    average_blocktime_ms: client?.network.average_blocktime_ms,
    required_confirmations: client?.network.required_confirmations,
    gas_limit: (row.intent === 'send' ? row.gas_limit : seen?.transfer_gas) ?? row.gas_limit ?? 0,
  }
  const explained = explain(row, facts)
  // The steps that help the blocking transaction also help the transactions behind it.
  const blocker =
    explained.wait_reason === 'earlier_nonce' && first
      ? await store.getTransaction(relayer.row_id, first.id)
      : undefined
  const priceFacts = { relayer, market: seen?.market, transfer_gas: seen?.transfer_gas }
  const options = optionsOf(row, { ...priceFacts, attempts, max_fee_per_gas })
  const whose = await historyOf(store, row, pool_row_id === undefined)
  if (blocker && !facts.isFirstSeen) return { ...explained, ...whose, options, suggestions: [] }
  const waitReason = blocker ? explain(blocker, facts).wait_reason : explained.wait_reason
  const helping = blocker
    ? optionsOf(blocker, { ...priceFacts, attempts: await store.attempts(blocker.row_id), max_fee_per_gas: undefined })
    : optionsOf(row, { ...priceFacts, attempts, max_fee_per_gas: undefined })
  const suggestions = suggestionsOf(blocker ?? row, waitReason, facts).filter((one) => isOfUse(one, helping))
  return { ...explained, ...whose, options, suggestions }
}

/** Members that are read apart. */
type Asides = 'suggestions' | 'options' | 'history' | 'caller' | 'caller_name'

/** Who sent it, and what was changed of it since. `isNamed`: the caller may see whose requests these are. */
async function historyOf(
  store: Store,
  row: TransactionRow,
  isNamed: boolean,
): Promise<Pick<TransactionExplanation, 'history' | 'caller' | 'caller_name'>> {
  const history = row.history ?? []
  if (!isNamed) {
    const unnamed = history.map((entry) => ({ ...entry, caller: null, caller_name: null }))
    return { history: unnamed, caller: null, caller_name: null }
  }
  const { caller } = row
  const names = await store.callerNames([caller, ...history.map((entry) => entry.caller)].filter((id) => id !== null))
  const nameOf = (id: string | null) => (id === null ? null : (names.get(id) ?? null))
  return {
    history: history.map((entry) => ({ ...entry, caller_name: nameOf(entry.caller) })),
    caller,
    caller_name: nameOf(caller),
  }
}

/** What would be signed at a price that no block takes helps nothing. */
function isOfUse({ operation }: TransactionSuggestion, options: TransactionOption[]): boolean {
  const its = options.filter((option) => option.operation === operation)
  return its.length === 0 || its.some(({ is_mineable }) => is_mineable !== false)
}

/** Each fact by itself: one that no node tells in time leaves the others. */
async function ask(client: NetworkClient, { address }: RelayerRow, { status }: WholeTransactionRow) {
  const [market, poll, funds, transferGas] = await Promise.all([
    within(patienceMs, client.market()),
    within(patienceMs, client.watch.poll(address, maxAgeMs)),
    within(patienceMs, client.funds(address)),
    isUnmined(status) ? within(patienceMs, gasOfTransfer(client, address)) : undefined,
  ])
  const { number: head, at_ms: headAt } = poll?.head ?? {}
  return { market, head, head_at: headAt, next_nonce: poll?.latest, balance: funds?.balance, transfer_gas: transferGas }
}

/** The gas limit of the transfer that uses the nonce of a withdrawn transaction. */
const gasOfTransfer = (client: NetworkClient, address: string): Promise<number> =>
  client.mempoolOf({ submission: null }).gas.limit({ from: address, to: address, value: 0n, data: null })

/** The observations that an explanation depends on. */
interface Facts extends ChainPace {
  relayer: RelayerRow
  /** The relayer's transaction in no block with the lowest nonce. */
  first: TransactionRow | undefined
  /** Whether the caller may see that one. */
  isFirstSeen: boolean
  attempts: number
  /** Undefined when no node answers. */
  market: Market | undefined
  head: number | undefined
  balance: bigint | undefined
  next_nonce: number | undefined
  required_confirmations: number | undefined
  /** Of what is signed next. */
  gas_limit: number
}

type Code = TransactionExplanation['wait_reason']

interface Cause {
  wait_reason: Code
  /** The end of the sentence "Waiting: …". */
  text: string
}

const maxMultiple = 1_000

/** Explains a transaction. Pure. */
function explain(row: WholeTransactionRow, facts: Facts): Omit<TransactionExplanation, Asides> {
  const { relayer, market, head, required_confirmations } = facts
  const prices = pricesOf(row)
  const cap = capOf(relayer, row.gas_limit ?? undefined, BigInt(row.data_fee ?? 0))
  const baseFee = market?.kind === 'eip1559' ? market.base_fee : undefined
  const price = prices && most(prices)
  const ceiling = ceilingOf(row).fee
  const confirmations = row.block_number === null || head === undefined ? 0 : Math.max(0, head - row.block_number + 1)
  const { wait_reason, text } = causeOf(row, facts, { base_fee: baseFee, price, cap, ceiling, confirmations })
  return {
    transaction_id: row.id,
    status: row.status,
    summary: text,
    wait_reason,
    call: row.data === null ? null : row.call,
    since: sinceOf(row, wait_reason),
    blocking_transaction_id: wait_reason === 'earlier_nonce' && facts.isFirstSeen ? (facts.first?.id ?? null) : null,
    figures: {
      nonce: row.nonce,
      next_nonce: facts.next_nonce ?? null,
      base_fee: baseFee?.toString() ?? null,
      max_fee_per_gas: price?.toString() ?? null,
      requested_max_fee_per_gas: ceiling?.toString() ?? null,
      allowed_max_fee_per_gas: cap?.toString() ?? null,
      balance: facts.balance?.toString() ?? null,
      max_cost: row.reserved,
      confirmations: row.block_number !== null && head === undefined ? null : confirmations,
      required_confirmations: required_confirmations ?? null,
      attempts_count: facts.attempts,
    },
  }
}

interface Figures {
  base_fee: bigint | undefined
  price: bigint | undefined
  cap: bigint | undefined
  ceiling: bigint | undefined
  confirmations: number
}

function causeOf(row: WholeTransactionRow, facts: Facts, figures: Figures): Cause {
  const ended = endOf(row)
  if (ended !== undefined) return { wait_reason: null, text: ended }
  if (row.block_number !== null) {
    const wanted = facts.required_confirmations ?? 'the required'
    const what = row.intent === 'send' ? 'In' : 'The transfer that uses its nonce is in'
    if (row.wait_reason === 'awaiting_quorum')
      return { wait_reason: 'awaiting_quorum', text: `Waiting: ${reasonOf(row)}.` }
    const text = `${what} block ${row.block_number}, with ${figures.confirmations} of ${wanted} confirmations.`
    return { wait_reason: 'confirmations', text }
  }
  const { wait_reason, text } = waitOf(row, facts, figures)
  const withdrawn = row.intent === 'send' ? '' : 'Being canceled. '
  return { wait_reason, text: `${withdrawn}Waiting: ${text.replace(/\.?$/, '.')}` }
}

function endOf({ status, status_reason, block_number, error }: WholeTransactionRow): string | undefined {
  const because = status_reason ? `: ${status_reason.replace(/\.?$/, '.')}` : '.'
  if (status === 'confirmed') return `Confirmed in block ${block_number}.`
  if (status === 'failed') return `Failed${error ? `: ${error.message.replace(/\.?$/, '.')}` : because}`
  if (status === 'canceled') return `Canceled${because}`
  return status === 'expired' ? `Expired${because}` : undefined
}

/** Why a transaction that is in no block makes no progress, or which step comes next. */
function waitOf(row: WholeTransactionRow, facts: Facts, figures: Figures): Cause {
  const { relayer, first } = facts
  if (first && first.row_id !== row.row_id && row.nonce !== null && (first.nonce as number) < row.nonce) {
    if (!facts.isFirstSeen) return { wait_reason: 'earlier_nonce', text: `nonce ${first.nonce} comes first` }
    const why = reasonToWait(first, facts) === null ? '' : `, which waits: ${reasonOf(first)}`
    const name = first.reference ?? `transaction ${first.id}`
    return { wait_reason: 'earlier_nonce', text: `nonce ${first.nonce} comes first (${name})${why}` }
  }
  if (relayer.disabled_reason !== null) return { wait_reason: 'disabled', text: relayer.disabled_reason }
  if (relayer.paused) return { wait_reason: 'paused', text: 'the relayer is paused' }
  const waitReason = reasonToWait(row, facts)
  if (waitReason !== null) return { wait_reason: waitReason, text: reasonOf(row) }
  const priceWait = row.status === 'pending' ? undefined : waitForPrice(figures)
  return priceWait ?? nextStep(row, facts)
}

/** A wait for a block is as long as a node has it, whatever it waited for meanwhile. */
const sinceOf = (row: TransactionRow, waitReason: Code): string =>
  (waitReason === 'block' ? row.sent_at : null) ?? row.changed_at ?? row.confirmed_at ?? row.sent_at ?? row.created_at

const reasonOf = ({ wait_text, status_reason }: TransactionRow): string => wait_text ?? status_reason ?? 'unknown'

/** What only an operator can do. */
const advice: Partial<Record<NonNullable<Code>, readonly string[]>> = {
  unreachable: ["Check the nodes in the network's rpc_urls."],
  uncertain_nonce: [
    'Compare the account with a block explorer. If the count there is higher, reconcile the nonces with it: {"next_nonce": 5000}.',
    "Or add the URL of a node that has old blocks to the network's rpc_urls: it shows the transaction that used the nonce.",
  ],
  missing_receipt: [
    "Add the URL of a node that has the receipt to the network's rpc_urls: more than half of all must show it.",
  ],
  awaiting_quorum: ["Check the nodes in the network's rpc_urls: more than half of all must agree."],
  disabled: ['Remove the cause, then reconcile the nonces (see "Get a relayer\'s nonce state").'],
}

/** The steps that can resolve this cause, the best first. Each is accepted by its operation as it stands. */
function suggestionsOf(
  row: WholeTransactionRow,
  waitReason: Code,
  { relayer, market, gas_limit }: Facts,
): TransactionSuggestion[] {
  const its = { relayer_id: row.relayer_id, transaction_id: null, body: null }
  const advise = (summary: string) => ({ ...its, operation: null, summary })
  const update = (summary: string, body: TransactionSuggestion['body']) => ({
    ...its,
    summary,
    operation: 'updateRelayer',
    body,
  })
  const isWithdrawn = row.intent !== 'send'
  const own = { ...its, transaction_id: row.id }
  const cancel = isWithdrawn ? [] : [{ ...own, operation: 'cancelTransaction', summary: 'Cancel it.' }]
  const summary = 'Cancel it again with a higher max_fee_per_gas, or without one.'
  const again =
    isWithdrawn && ceilingOf(row).fee !== undefined ? [{ ...own, operation: 'cancelTransaction', summary }] : []
  const speedUp = (summary: string, body: NonNullable<TransactionSuggestion['body']>) =>
    isWithdrawn || row.sponsored ? [] : [{ ...own, operation: 'speedUpTransaction', summary, body }]
  switch (waitReason) {
    case 'price_cap': {
      const asked = askedFor(row, market)
      const body = asked === undefined ? null : { policies: { gas_price_cap: asked.toString() } }
      return [update('Raise the policy gas_price_cap above the base fee.', body), ...cancel]
    }
    case 'fee_multiplier': {
      const maxFeeMultiplier = Math.min(Number(multipleOf(relayer)) * 2, maxMultiple)
      return [
        update('Raise the policy max_fee_multiplier.', { policies: { max_fee_multiplier: maxFeeMultiplier } }),
        ...cancel,
      ]
    }
    case 'fee_budget': {
      const { max_fee_per_day: day, max_fee_per_transaction: each } = relayer.policies
      const raise =
        day === undefined && each === undefined
          ? advise('Raise max_fee_per_day in the budget of the API key that sent it.')
          : update('Raise the fee budget of the relayer.', { policies: raisedBudget(row, relayer, market, gas_limit) })
      return [raise, ...cancel]
    }
    case 'base_fee':
      return [...speedUp('Speed it up: sign it at the price of a faster tier.', { speed: 'fast' }), ...again, ...cancel]
    case 'fee_too_low':
    case 'replacement_underpriced':
      return [
        ...speedUp('Speed it up without a price, so that the service chooses one.', { speed: 'fast' }),
        ...again,
        ...cancel,
      ]
    case 'funds':
      return [
        advise(`Fund ${checksummed(row.from)}${row.reserved ? `; it costs up to ${row.reserved} wei` : ''}.`),
        ...cancel,
      ]
    case 'node':
      return [advise('Replace it with a transaction that the nodes accept; see the reason.'), ...cancel]
    case 'nonce_conflict': {
      const prices = market && pricesToEvict(row, relayer, market)
      const summary = 'Pay more than the other transaction at its nonce, if that one may be replaced.'
      return [
        advise('Wait until the other transaction at its nonce is mined.'),
        ...(prices ? speedUp(summary, prices) : []),
      ]
    }
    case 'private_relay':
    case 'block':
    case 'acceptance':
      return isPrivate(row) ? [...publish(row), ...cancel] : []
    case 'paused':
      return [update('Resume the relayer.', { paused: false })]
    default:
      return waitReason === null ? [] : (advice[waitReason] ?? []).map(advise)
  }
}

/** The bytes of a cancellation say nothing of what it cancels; those of the caller are the caller's to publish. */
function publish({ id, relayer_id, intent, submission }: TransactionRow): TransactionSuggestion[] {
  if (submission?.mode === 'public') return []
  const summary =
    intent === 'send'
      ? 'Give it to the public nodes.'
      : 'Give its cancellation to the public nodes. The transaction that it cancels stays with the private relays.'
  return [{ operation: 'publishTransaction', summary, relayer_id, transaction_id: id, body: null }]
}

/** The price of a tier, and never less than what replaces what the transaction has. */
function askedFor(row: WholeTransactionRow, market: Market | undefined, tier: Tier = tierOf(row)): bigint | undefined {
  const asked = market && priceByTier(market, tier, priceKindOf(row.type))
  return asked && most(aboveHeld(row, asked))
}

function aboveHeld(row: WholeTransactionRow, asked: Prices): Prices {
  const held = row.hash === null ? undefined : pricesOf(row)
  return held ? atLeastPrices(asked, minReplacementFee(held, asked.kind)) : asked
}

/** The fee policy that holds the transaction up, raised to what it needs. */
function raisedBudget(
  row: WholeTransactionRow,
  { policies }: RelayerRow,
  market: Market | undefined,
  gasLimit: number,
) {
  const held = pricesOf(row)
  const least = held ? most(minReplacementFee(held)) : 0n
  const needed = (askedFor(row, market, 'fast') ?? least) * BigInt(gasLimit)
  const { max_fee_per_transaction, max_fee_per_day } = policies
  if (max_fee_per_transaction !== undefined && BigInt(max_fee_per_transaction) < needed) {
    return { max_fee_per_transaction: needed.toString() }
  }
  return { max_fee_per_day: (BigInt(max_fee_per_day ?? 0) * 2n + needed).toString() }
}

/** Prices that are likely to replace an unknown transaction, within the policies; undefined: there is no room. */
function pricesToEvict(row: WholeTransactionRow, relayer: RelayerRow, market: Market) {
  const cap = capOf(relayer, row.gas_limit ?? undefined, BigInt(row.data_fee ?? 0))
  const wanted = aboveHeld(row, priceByTier(market, 'fastest', priceKindOf(row.type)))
  if (cap !== undefined && most(wanted) > cap) return undefined
  if (wanted.kind === 'legacy') return { max_fee_per_gas: `${wanted.gas_price}` }
  const { max_fee_per_gas: fee, max_priority_fee_per_gas: tip } = wanted
  return { max_fee_per_gas: `${fee}`, max_priority_fee_per_gas: `${tip}` }
}
