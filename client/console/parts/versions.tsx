import type { ReactNode } from 'react'
import type { Attempt } from '../../index.ts'
import { exactly, gwei } from '../data/format.ts'
import type { Tone } from '../data/statuses.ts'
import { gap, span } from '../data/times.ts'
import type { Run } from '../data/versions.ts'
import { Copyable } from './links.tsx'
import { Moment } from './moment.tsx'

/** A step of a transaction's timeline. */
export interface Step {
  name: string
  at: string | null
  tone?: Tone
  more?: ReactNode
}

export function signed([first, ...others]: Run): Step {
  const last = others.at(-1)
  return last === undefined ? alone(first) : folded(first, last, others)
}

/** `Signed versions 3–17`, with the range of their prices, and each of them on request. */
function folded(first: Attempt, last: Attempt, others: Attempt[]): Step {
  const between_ms = (Date.parse(last.signed_at) - Date.parse(first.signed_at)) / others.length
  const prices = [first, last].map((its) => its.gas_price ?? its.max_fee_per_gas)
  return {
    name: `Signed versions ${first.number}–${last.number}${first.purpose === 'cancel' ? ', cancellations' : ''}`,
    at: last.signed_at,
    ...(first.refusal !== null && { tone: 'bad' }),
    more: (
      <>
        <div title={prices.map((wei) => exactGwei(wei)).join(' → ')}>
          Price {prices.map(gwei).join(' → ')} gwei, every {span(between_ms)}
        </div>
        <div className="answer">{answerOf(last)}</div>
        <details>
          <summary>Show these {others.length + 1} versions</summary>
          {[first, ...others].map((its) => (
            <div key={its.number} className="version">
              <strong>Version {its.number}</strong> <Moment at={its.signed_at} />
              {alone(its).more}
            </div>
          ))}
        </details>
      </>
    ),
  }
}

const alone = ({ purpose, number, signed_at, refusal, ...its }: Attempt): Step => ({
  name: purpose === 'cancel' ? `Signed version ${number}, a cancellation` : `Signed version ${number}`,
  at: signed_at,
  ...(refusal !== null && { tone: 'bad' }),
  more: (
    <>
      <div>
        <Copyable value={its.hash} /> nonce {its.nonce ?? 'unknown'}
      </div>
      <div title={exactPriceOf(its)}>{priceOf(its)}</div>
      <div className="answer">{answerOf({ signed_at, refusal, ...its })}</div>
    </>
  ),
})

const exactGwei = (wei: string | null) => (wei === null ? 'unknown' : `${exactly(wei, 9)} gwei`)

const exactPriceOf = ({ gas_price, max_fee_per_gas, max_priority_fee_per_gas }: Prices): string =>
  gas_price !== null
    ? exactGwei(gas_price)
    : `${exactGwei(max_fee_per_gas)}, tip ${exactGwei(max_priority_fee_per_gas)}`

type Prices = Pick<Attempt, 'gas_price' | 'max_fee_per_gas' | 'max_priority_fee_per_gas'>

function priceOf({ gas_price, max_fee_per_gas, max_priority_fee_per_gas }: Prices): string {
  if (gas_price !== null) return `Price ${gwei(gas_price)} gwei`
  return `Price at most ${gwei(max_fee_per_gas)} gwei, tip ${gwei(max_priority_fee_per_gas)} gwei`
}

function answerOf({
  signed_at,
  accepted_at,
  refusal,
  is_mined,
}: Pick<Attempt, 'signed_at' | 'accepted_at' | 'refusal' | 'is_mined'>): string {
  if (refusal !== null && !is_mined) return `A node rejected it: ${refusal}`
  const accepted =
    accepted_at === null ? [] : [`A node accepted it after ${gap(Date.parse(accepted_at) - Date.parse(signed_at))}.`]
  if (is_mined) return [...accepted, 'This version was mined.'].join(' ')
  return accepted[0] ?? 'No node has accepted it yet.'
}
