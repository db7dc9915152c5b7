import type { Explanation, Suggestion } from '../../generated/openapi.ts'
import { capOf, multipleOf } from '../policies/fee-policies.ts'
import type { RelayerRow } from '../store/rows.ts'
import type { TransactionRow, WholeTransactionRow } from '../store/sending-rows.ts'
import { type Fees, type Market, pricesOf, tierOf } from './dependencies.ts'
import { waitForPrice } from './wait-reason.ts'

/** The observations that an explanation depends on. */
export interface Facts {
  relayer: RelayerRow
  /** The relayer's transaction in no block with the lowest nonce. */
  first: TransactionRow | undefined
  attempts: number
  /** Undefined when no node answers. */
  market: Market | undefined
  head: number | undefined
  balance: bigint | undefined
  next_nonce: number | undefined
  required_confirmations: number | undefined
}

type Code = Explanation['waiting_for']

interface Cause {
  waiting_for: Code
  /** The end of the sentence "It waits: …". */
  text: string
}

const max_multiple = 1_000

/** Explains a transaction. Pure. */
export function explain(
  fees: Pick<Fees, 'most' | 'quote'>,
  row: WholeTransactionRow,
  facts: Facts,
): Omit<Explanation, 'suggestions'> {
  const { relayer, market, head, required_confirmations } = facts
  const prices = pricesOf(row)
  const cap = capOf(relayer, row.gas_limit ?? undefined)
  const base_fee = market?.kind === 'eip1559' ? market.base_fee : undefined
  const price = prices && fees.most(prices)
  const confirmations = row.block_number === null || head === undefined ? 0 : Math.max(0, head - row.block_number + 1)
  const { waiting_for, text } = causeOf(row, facts, { base_fee, price, cap, confirmations })
  return {
    transaction_id: row.id,
    status: row.status,
    summary: text,
    waiting_for,
    since: row.changed_at ?? row.confirmed_at ?? row.sent_at ?? row.created_at,
    blocked_by: waiting_for === 'earlier_nonce' ? (facts.first?.id ?? null) : null,
    figures: {
      nonce: row.nonce,
      next_nonce: facts.next_nonce ?? null,
      base_fee: base_fee?.toString() ?? null,
      price: price?.toString() ?? null,
      price_cap: cap?.toString() ?? null,
      balance: facts.balance?.toString() ?? null,
      reserved: row.reserved,
      confirmations: row.block_number !== null && head === undefined ? null : confirmations,
      required_confirmations: required_confirmations ?? null,
      attempts: facts.attempts,
    },
  }
}

interface Figures {
  base_fee: bigint | undefined
  price: bigint | undefined
  cap: bigint | undefined
  confirmations: number
}

function causeOf(row: WholeTransactionRow, facts: Facts, figures: Figures): Cause {
  const ended = endOf(row)
  if (ended !== undefined) return { waiting_for: null, text: ended }
  if (row.block_number !== null) {
    const wanted = facts.required_confirmations ?? 'the required'
    const what = row.intent === 'send' ? 'It' : 'The transfer that uses its nonce'
    const text = `${what} is in block ${row.block_number}, with ${figures.confirmations} of ${wanted} confirmations.`
    return { waiting_for: 'confirmations', text }
  }
  const { waiting_for, text } = waitOf(row, facts, figures)
  const withdrawn = row.intent === 'send' ? '' : 'It is being withdrawn. '
  return { waiting_for, text: `${withdrawn}It waits: ${text.replace(/\.?$/, '.')}` }
}

function endOf({ status, status_reason, block_number, error }: WholeTransactionRow): string | undefined {
  const because = status_reason ? `: ${status_reason.replace(/\.?$/, '.')}` : '.'
  if (status === 'confirmed') return `It is confirmed, in block ${block_number}.`
  if (status === 'failed') return `It failed${error ? `: ${error.message.replace(/\.?$/, '.')}` : because}`
  if (status === 'canceled') return `It was canceled${because}`
  return status === 'expired' ? `It expired${because}` : undefined
}

/** Why a transaction that is in no block makes no progress, or which step comes next. */
function waitOf(row: WholeTransactionRow, { relayer, first }: Facts, { base_fee, price, cap }: Figures): Cause {
  if (first && first.row_id !== row.row_id && row.nonce !== null && (first.nonce as number) < row.nonce) {
    const why = first.waiting_for === null ? '' : `, which waits: ${reasonOf(first)}`
    return { waiting_for: 'earlier_nonce', text: `nonce ${first.nonce} comes first (transaction ${first.id})${why}` }
  }
  if (relayer.disabled_reason !== null) return { waiting_for: 'disabled', text: relayer.disabled_reason }
  if (relayer.paused) return { waiting_for: 'paused', text: 'the relayer is paused' }
  if (row.waiting_for !== null) return { waiting_for: row.waiting_for, text: reasonOf(row) }
  if (row.status === 'pending') return { waiting_for: 'signature', text: 'it is signed next' }
  const priceWait = waitForPrice({ base_fee, cap, price })
  if (priceWait) return priceWait
  return row.status === 'sent'
    ? { waiting_for: 'acceptance', text: 'it is signed, and no node has accepted it yet' }
    : { waiting_for: 'block', text: 'a node has it, and one of the next blocks includes it' }
}

const reasonOf = ({ status_reason }: TransactionRow): string => status_reason?.replace(/^.*?Waits: /s, '') ?? 'unknown'

/** The steps that can resolve this cause, the best first. */
export function suggestionsOf(
  fees: Pick<Fees, 'most' | 'quote'>,
  row: WholeTransactionRow,
  waiting_for: Code,
  { relayer, market }: Facts,
): Suggestion[] {
  const its = { relayer_id: row.relayer_id, transaction_id: null, body: null }
  const update = (summary: string, body: Suggestion['body']) => ({ ...its, summary, operation: 'updateRelayer', body })
  const own = (operation: string, summary: string, body: Suggestion['body'] = null) => {
    return { ...its, transaction_id: row.id, operation, summary, body }
  }
  const isWithdrawn = row.intent !== 'send'
  const cancel = isWithdrawn ? [] : [own('cancelTransaction', 'Cancel it.')]
  const legacy = relayer.policies.eip1559_pricing === false
  const asked = market && fees.most(fees.quote(market, tierOf(row), legacy))
  switch (waiting_for) {
    case 'price_cap': {
      const body = asked === undefined ? null : { policies: { gas_price_cap: asked.toString() } }
      return [update('Raise the policy gas_price_cap above the base fee.', body), ...cancel]
    }
    case 'fee_multiple': {
      const max_fee_multiple = Math.min(Number(multipleOf(relayer)) * 2, max_multiple)
      return [update('Raise the policy max_fee_multiple.', { policies: { max_fee_multiple } }), ...cancel]
    }
    case 'fee_budget':
      return [update('Raise the policy max_fee_per_day or max_fee_per_transaction.', null), ...cancel]
    case 'base_fee': {
      const { to, value, data, gas_limit } = row
      const body = { to, value, data, gas_limit, speed: 'fast' as const }
      const replace = own('replaceTransaction', 'Replace it at the price of a faster tier.', body)
      return [...(isWithdrawn ? [] : [replace]), ...cancel]
    }
    case 'funds': {
      const summary = `Send ether to ${row.from}${row.reserved ? `; it costs up to ${row.reserved} wei` : ''}.`
      return [{ ...its, operation: null, summary }, ...cancel]
    }
    case 'node':
      return [own('replaceTransaction', 'Replace it with a transaction that the nodes accept.'), ...cancel]
    case 'unreachable':
      return [{ ...its, operation: 'updateNetwork', summary: "Check the nodes in the network's rpc_urls." }]
    case 'contested_nonce':
    case 'uncertain_nonce':
      return [{ ...its, operation: 'healNonce', summary: 'Repair the nonces (see "Get a relayer\'s nonce state").' }]
    case 'paused':
      return [update('Resume the relayer.', { paused: false })]
    case 'disabled':
      return [{ ...its, operation: 'healNonce', summary: 'Remove the cause, then repair the nonces.' }]
    default:
      return []
  }
}
