import type { Attempt, Transaction } from '../../index.ts'
import { count, gwei, time } from '../data/format.ts'
import { Copyable } from './links.tsx'
import { Moment } from './moment.tsx'

/** The history of a transaction: accepted, each signed version with the nodes' response, mined, and its final status. */
export function Timeline({ transaction, attempts }: { transaction: Transaction; attempts: Attempt[] }) {
  const { created_at, receipt, status, status_reason } = transaction
  return (
    <ol className="timeline">
      <li>
        <strong>Accepted</strong> <Moment at={created_at} />
      </li>
      {attempts.map((attempt) => (
        <li key={attempt.number} className={attempt.refusal === null ? '' : 'bad'}>
          <strong>{attempt.purpose === 'cancel' ? 'Signed a cancellation' : `Signed version ${attempt.number}`}</strong>{' '}
          <Moment at={attempt.signed_at} />
          <div>
            <Copyable value={attempt.hash} /> nonce {attempt.nonce ?? 'unknown'}, {priceOf(attempt)}
          </div>
          <div className="answer">{answerOf(attempt)}</div>
        </li>
      ))}
      {receipt && (
        <li>
          <strong>In block {count(receipt.block_number)}</strong>
        </li>
      )}
      {(status === 'confirmed' || status === 'failed' || status === 'canceled' || status === 'expired') && (
        <li className={status === 'failed' ? 'bad' : status === 'confirmed' ? 'good' : 'warn'}>
          <strong>Ended as {status}</strong> <Moment at={transaction.ended_at} />
          {status_reason !== null && status !== 'failed' && <div className="long">{status_reason}</div>}
        </li>
      )}
    </ol>
  )
}

function priceOf({ gas_price, max_fee_per_gas, max_priority_fee_per_gas }: Attempt): string {
  if (gas_price !== null) return `at ${gwei(gas_price)} gwei`
  return `at most ${gwei(max_fee_per_gas)} gwei, tip ${gwei(max_priority_fee_per_gas)} gwei`
}

function answerOf({ accepted_at, refusal, is_mined }: Attempt): string {
  if (is_mined) return 'This version was mined.'
  if (refusal !== null) return `A node rejected it: ${refusal}`
  return accepted_at === null ? 'No node has accepted it yet.' : `A node accepted it at ${time(accepted_at)}.`
}
