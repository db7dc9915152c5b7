import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type {
  Explanation,
  RelayerPoliciesPatch,
  SendTransactionRequest,
  Speed,
  SpeedUpRequest,
  Suggestion,
  Transaction,
} from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Callout, type Severity } from '../components/feedback.tsx'
import { about, Bytes, Copyable, Figures, Lasting, Moment, Receiver, RelayerLink } from '../components/values.tsx'
import { amount, gasPrice, reasonText } from '../data/format.ts'
import { useGet } from '../data/get.ts'
import { paths } from '../data/paths.ts'
import { useNetworkOf, useProblems, useSymbolOf } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { isSlow, type Tone, toneOf } from '../data/statuses.ts'
import { useIsStill } from '../relayers/relayer-troubles.tsx'
import { cancelTo, changeIn, lackOfChange, type Operation, PriceChange, speedUpTo } from './price-change.tsx'
import { Reason } from './reason.tsx'

/** Why a transaction waits or failed, with what the service suggests. */
export function ExplanationCard({ transaction, why }: { transaction: Transaction; why: Explanation }) {
  const { figures } = why
  const symbol = useSymbolOf(transaction.relayer_id)
  const isStill = useIsStill(useNetworkOf(transaction.relayer_id))
  const priceOf = (wei: string | null) => wei !== null && gasPrice(wei)
  const coins = (wei: string | null) => wei !== null && amount(wei, symbol)
  return (
    <section className="why" aria-label="Explanation">
      <Callout of={useSeverity(transaction, why)}>
        <p className="summary">
          <Reason text={why.summary} of={transaction} />
        </p>
        <p className="hint">
          {why.wait_reason === null ? (
            <>
              Ended at <Moment at={why.since} />, <Lasting since={why.since} /> ago
            </>
          ) : (
            <>
              Since <Moment at={why.since} />
              {/* The summary says for how long no block includes it. */}
              {why.wait_reason !== 'block' && (
                <>
                  , for <Lasting since={why.since} />
                </>
              )}
            </>
          )}
          {why.blocked_by !== null && (
            <>
              {' · '}
              <Link to={paths.transaction({ relayer_id: transaction.relayer_id, id: why.blocked_by })}>
                Open the transaction that blocks it
              </Link>
            </>
          )}
        </p>
        {isStill && why.wait_reason === 'block' && (
          <p>
            The chain makes no blocks, so no price helps. <Link to={paths.networks}>Open the nodes</Link>
          </p>
        )}
        {transaction.is_canceling && !isStill && (
          <p>
            The service signs the cancellation again at a higher price while blocks leave it out, as far as the policies
            allow.
          </p>
        )}
        {why.wait_reason !== null && (
          <Figures
            of={{
              'Price at most': priceOf(figures.price),
              'Base fee': priceOf(figures.base_fee),
              'Price cap': priceOf(figures.price_cap),
              Balance: coins(figures.balance),
              Reserved: coins(figures.reserved),
              'Next nonce on chain': figures.next_nonce ?? 'unknown',
            }}
          />
        )}
        {transaction.error?.revert_data && (
          <details>
            <summary>Revert data</summary>
            <Bytes name="Revert data" value={transaction.error.revert_data} />
          </details>
        )}
        <Suggestions suggestions={why.suggestions} of={transaction} />
      </Callout>
    </section>
  )
}

const ended: Record<Tone, Severity> = {
  ...{ good: 'succeeded', bad: 'critical', warn: 'warning', busy: 'info', idle: 'info' },
}
const onItsWay: ReadonlySet<Explanation['wait_reason']> = new Set([
  ...(['signature', 'acceptance', 'block', 'confirmations'] as const),
])

/** As the overview says it, where it does. */
function useSeverity(transaction: Transaction, { wait_reason }: Explanation): Severity {
  const problem = useProblems().data?.data.find(({ transaction_id }) => transaction_id === transaction.id)
  if (wait_reason === null) return ended[toneOf(transaction.status)]
  return problem?.severity ?? (onItsWay.has(wait_reason) && !isSlow(transaction) ? 'info' : 'warning')
}

/** Of a suggestion that has a primary button of its own. */
export const isRemedy = ({ operation, body }: Suggestion): boolean =>
  operation === 'reconcileRelayerNonce' || (operation === 'updateRelayer' && body !== null)

/** The remedies that the service suggests, as buttons if the API key has the scope for them. */
function Suggestions({ suggestions, of: its }: { suggestions: Suggestion[]; of: Transaction }) {
  const symbol = useSymbolOf(its.relayer_id)
  // A retry of the service may remove the suggestion for a moment: an open dialog stays open.
  const [openedWith, setOpenedWith] = useState<Suggestion[]>()
  const shown = openedWith ?? suggestions
  if (shown.length === 0) return null
  const whileOpen = { opened: () => setOpenedWith(shown), closed: () => setOpenedWith(undefined) }
  return (
    <div className="remedies">
      <h2>Suggested actions</h2>
      <ul className="plain">
        {shown.map((suggestion, index) => (
          <li key={keyOf(suggestion, shown.slice(0, index))}>
            <span>{reasonText(suggestion.summary, symbol)}</span>{' '}
            <Remedy suggestion={suggestion} of={its} whileOpen={whileOpen} />
          </li>
        ))}
      </ul>
    </div>
  )
}

/** A key that does not change with the figures of the text, so that the button keeps the focus and the dialog stays open. */
const keyOf = ({ operation }: Suggestion, before: Suggestion[]) =>
  `${operation} ${before.filter((other) => other.operation === operation).length}`

function Remedy({
  suggestion: { operation, relayer_id, transaction_id, body, summary },
  of: transaction,
  whileOpen,
}: {
  suggestion: Suggestion
  of: Transaction
  whileOpen: { opened: () => void; closed: () => void }
}) {
  const { may, mayManageAll } = useSession()
  const id = transaction_id ?? ''
  // The transaction's own buttons are above, and stay where they are while the suggestions change.
  const isAbove = id === transaction.id
  const link = <Link to={paths.transaction({ relayer_id, id })}>The transaction</Link>
  switch (operation) {
    case 'updateRelayer': {
      if (!may('manage')) return null
      if (!body) return <Link to={paths.relayer(relayer_id, 'policies')}>Open the policies</Link>
      const change = body as { paused?: boolean; policies?: RelayerPoliciesPatch }
      const isResumed = change.paused === false
      return (
        <Action
          {...whileOpen}
          label={isResumed ? 'Resume' : 'Change the policy'}
          title={isResumed ? `Resume relayer ${relayer_id}` : `Change the policy of ${relayer_id}`}
          message={about(
            isResumed ? 'Relayer' : 'The policy of',
            <RelayerLink id={relayer_id} />,
            isResumed ? 'is resumed.' : 'is changed.',
          )}
          tone="primary"
          effect={`Relayer ${relayer_id}: ${changeText(change)}. It applies to all its transactions.`}
          run={(client) => client.relayers.update(relayer_id, change)}
        />
      )
    }
    case 'speedUpTransaction':
      if (!may('send')) return null
      if (isAbove) return <span className="hint">“Speed up”</span>
      return (
        <ChangeOther
          operation={operation}
          relayer_id={relayer_id}
          id={id}
          speed={(body as SpeedUpRequest).speed ?? 'fastest'}
          whileOpen={whileOpen}
        />
      )
    case 'replaceTransaction':
      if (!may('send')) return null
      if (isAbove) return <span className="hint">“Speed up”</span>
      return (
        <Action
          {...whileOpen}
          label="Release it"
          tone="primary"
          effect="Gives the signed bytes to the public nodes. Everybody sees them."
          run={(client) => client.transactions.replace(relayer_id, id, body as SendTransactionRequest)}
          message={<>{link} is released to the public nodes.</>}
        >
          {isAbove ? <Receiver of={transaction} /> : <ReceiverOf relayer_id={relayer_id} id={id} />}
        </Action>
      )
    case 'cancelTransaction':
      if (!may('send')) return null
      if (isAbove) return <span className="hint">“Cancel”</span>
      return <ChangeOther operation={operation} relayer_id={relayer_id} id={id} speed="fast" whileOpen={whileOpen} />
    case 'reconcileRelayerNonce':
      if (!may('send')) return null
      return (
        <Action
          {...whileOpen}
          label="Repair the nonces"
          tone="primary"
          effect={`Asks every node of ${relayer_id} for its transaction count, and corrects the nonces of unsigned transactions.`}
          run={(client) => client.relayers.reconcileNonce(relayer_id, {})}
          message={about(
            'The nonces of',
            <RelayerLink id={relayer_id} />,
            'are repaired: they agree with what the nodes report.',
          )}
        />
      )
    case 'updateNetwork':
      return <Link to={paths.networks}>{mayManageAll ? 'Open the nodes to change them' : 'Open the nodes'}</Link>
    case null:
      return summary.includes(transaction.from) ? <Copyable value={transaction.from} whole /> : null
    default:
      return null
  }
}

interface ChangeOtherProps {
  operation: Operation
  relayer_id: string
  id: string
  speed: Speed
  whileOpen: { opened: () => void; closed: () => void }
}

/** Speeds up or cancels another transaction than the page's. The prices are those of the moment at which the dialog was opened. */
function ChangeOther({ operation, relayer_id, id, speed, whileOpen }: ChangeOtherProps) {
  const { client } = useSession()
  const asked = useMutation({ mutationFn: () => client.transactions.getExplanation(id) })
  const change = asked.data && changeIn(asked.data, operation, speed)
  const isCancellation = operation === 'cancelTransaction'
  return (
    <Action
      closed={whileOpen.closed}
      opened={() => {
        whileOpen.opened()
        asked.mutate()
      }}
      label={isCancellation ? 'Cancel it' : 'Speed up'}
      {...(isCancellation && { title: 'Cancel transaction', dismiss: 'Keep it' })}
      tone={isCancellation ? 'danger' : 'primary'}
      effect={
        isCancellation
          ? 'Replaces it with a transfer of 0 to the relayer itself with the same nonce, at most at the price shown here. If it is mined first, it stays.'
          : 'Signs the same transaction again with the same nonce, at most at the price shown here.'
      }
      lack={asked.isSuccess ? (isCancellation ? undefined : lackOfChange(change)) : 'The price is not known yet.'}
      run={(client, idempotencyKey) =>
        isCancellation
          ? client.transactions.cancel(relayer_id, id, cancelTo(change))
          : client.transactions.speedUp(relayer_id, id, speedUpTo(speed, change ?? { price: null }), { idempotencyKey })
      }
      message={
        <>
          <Link to={paths.transaction({ relayer_id, id })}>The transaction</Link>{' '}
          {isCancellation
            ? 'is being canceled. Its page shows whether it was mined first.'
            : 'is sped up. Its timeline shows what the nodes answer.'}
        </>
      }
    >
      {!isCancellation && <ReceiverOf relayer_id={relayer_id} id={id} />}
      <PriceChange of={change} relayer_id={relayer_id} />
    </Action>
  )
}

/** Of a transaction that the page does not show. */
function ReceiverOf({ relayer_id, id }: { relayer_id: string; id: string }) {
  const path = { relayer_id, transaction_id: id }
  const { data } = useGet('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', { path })
  return data ? <Receiver of={data} /> : null
}

function changeText({ paused, policies }: { paused?: boolean; policies?: RelayerPoliciesPatch }): string {
  if (paused !== undefined) return paused ? 'stops signing and sending' : 'signs and sends again'
  return Object.entries(policies ?? {})
    .map(([name, value]) => `${name} becomes ${name === 'gas_price_cap' ? gasPrice(String(value)) : String(value)}`)
    .join(', ')
}
