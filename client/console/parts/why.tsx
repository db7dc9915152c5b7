import { Link } from 'wouter'
import type { Explanation, Transaction } from '../../index.ts'
import { amount, gwei } from '../data/format.ts'
import { useNetworkOf, useProblems, useSymbolOf } from '../data/overview.ts'
import { isSlow, type Tone, toneOf } from '../data/statuses.ts'
import { Bytes } from './bytes.tsx'
import { Callout, type Severity } from './callout.tsx'
import { Figure } from './figure.tsx'
import { transactionPath } from './links.tsx'
import { Lasting, Moment } from './moment.tsx'
import { Reason } from './reason.tsx'
import { useIsStill } from './relayer-troubles.tsx'
import { Suggestions } from './suggestions.tsx'

/** Why a transaction waits or failed, with what the service suggests. */
export function Why({ its, why }: { its: Transaction; why: Explanation }) {
  const { figures } = why
  const symbol = useSymbolOf(its.relayer_id)
  const isStill = useIsStill(useNetworkOf(its.relayer_id))
  const shown = [
    ['Price at most', figures.price, 'gwei'],
    ['Base fee', figures.base_fee, 'gwei'],
    ['Price cap', figures.price_cap, 'gwei'],
    ['Balance', figures.balance, 'coins'],
    ['Reserved', figures.reserved, 'coins'],
  ] as const
  return (
    <section className="why" aria-label="Explanation">
      <Callout of={useSeverity(its, why)}>
        <p className="summary">
          <Reason text={why.summary} of={its} />
        </p>
        <p className="hint">
          {why.waiting_for === null ? (
            <>
              Ended at <Moment at={why.since} />, <Lasting since={why.since} /> ago
            </>
          ) : (
            <>
              Since <Moment at={why.since} />
              {/* The summary says for how long no block includes it. */}
              {why.waiting_for !== 'block' && (
                <>
                  , for <Lasting since={why.since} />
                </>
              )}
            </>
          )}
          {why.blocked_by !== null && (
            <>
              {' · '}
              <Link to={transactionPath({ relayer_id: its.relayer_id, id: why.blocked_by })}>
                Open the transaction that blocks it
              </Link>
            </>
          )}
        </p>
        {isStill && why.waiting_for === 'block' && (
          <p>
            The chain makes no blocks, so no price helps. <Link to="/networks">Open the nodes</Link>
          </p>
        )}
        {its.is_canceling && !isStill && (
          <p>
            The service signs the cancellation again at a higher price while blocks leave it out, as far as the policies
            allow.
          </p>
        )}
        {why.waiting_for !== null && (
          <dl className="figures">
            {shown
              .filter(([, value]) => value !== null)
              .map(([name, value, unit]) => (
                <Figure key={name} name={name}>
                  {unit === 'gwei' ? `${gwei(value)} gwei` : amount(value, symbol)}
                </Figure>
              ))}
            <Figure name="Next nonce on chain">{figures.next_nonce ?? 'unknown'}</Figure>
          </dl>
        )}
        {its.error?.revert_data && (
          <details>
            <summary>Revert data</summary>
            <Bytes name="Revert data" value={its.error.revert_data} />
          </details>
        )}
        <Suggestions suggestions={why.suggestions} of={its} />
      </Callout>
    </section>
  )
}

const ended: Record<Tone, Severity> = {
  ...{ good: 'succeeded', bad: 'critical', warn: 'warning', busy: 'info', idle: 'info' },
}
const on_its_way: ReadonlySet<Explanation['waiting_for']> = new Set([
  ...(['signature', 'acceptance', 'block', 'confirmations'] as const),
])

/** As the overview says it, where it does. */
function useSeverity(its: Transaction, { waiting_for }: Explanation): Severity {
  const problem = useProblems().data?.data.problems.find(({ transaction_id }) => transaction_id === its.id)
  if (waiting_for === null) return ended[toneOf(its.status)]
  return problem?.severity ?? (on_its_way.has(waiting_for) && !isSlow(its) ? 'info' : 'warning')
}
