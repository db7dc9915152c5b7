import { useState } from 'react'
import { getAddress } from 'viem'
import { Link } from 'wouter'
import type { Transaction, TransactionExplanation, TransactionSuggestion } from '../../index.ts'
import { Bytes } from '../components/bytes.tsx'
import { Callout, type Severity } from '../components/feedback.tsx'
import { Ago, Figures, NetworkLink, RowTime } from '../components/values.tsx'
import { amount, gasPrice, reasonText } from '../data/format.ts'
import { paths } from '../data/paths.ts'
import { useIsStill, useNetworkOf, useProblems, useSymbolOf } from '../data/resources.ts'
import { isSlow, type Tone, toneOf } from '../data/statuses.ts'
import { signatureOf } from './contract-error.ts'
import { Reason } from './reason.tsx'
import { SuggestedAction } from './suggested-action.tsx'

/** Why a transaction waits or failed, with what the service suggests. */
export function ExplanationCard({ transaction, why }: { transaction: Transaction; why: TransactionExplanation }) {
  const { figures } = why
  const symbol = useSymbolOf(transaction.relayer_id)
  const network = useNetworkOf(transaction.relayer_id)
  const isStill = useIsStill(network)
  const signature = transaction.error ? signatureOf(transaction.error) : undefined
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
              Ended <Ago at={why.since} />
            </>
          ) : (
            <>
              {/* A caller waits since then, however often it was signed. The sentence above says how long. */}
              Accepted <Ago at={transaction.created_at} />
            </>
          )}
          {why.wait_reason !== null && !onItsWay.has(why.wait_reason) && (
            <>
              {' · '}waits for this since <RowTime at={why.since} />
            </>
          )}
          {why.blocking_transaction_id !== null && (
            <>
              {' · '}
              <Link to={paths.transaction({ relayer_id: transaction.relayer_id, id: why.blocking_transaction_id })}>
                Open the transaction that blocks it
              </Link>
            </>
          )}
        </p>
        {isStill && why.wait_reason === 'block' && (
          <p>
            The chain makes no blocks, so no price helps.{' '}
            {network !== undefined && (
              <>
                Look at <NetworkLink name={network} />.
              </>
            )}
          </p>
        )}
        {why.wait_reason === 'block' && !isStill && isPaid(figures) && (
          <p>
            It can be mined at this price: wait for a block
            {network !== undefined && (
              <>
                {' '}
                of <NetworkLink name={network} />
              </>
            )}
            .
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
              'Price at most': priceOf(figures.max_fee_per_gas),
              'Base fee, next block': priceOf(figures.base_fee),
              'Price cap': priceOf(figures.allowed_max_fee_per_gas),
              Balance: coins(figures.balance),
              'Costs at most': coins(figures.max_cost),
              'Next nonce on chain': figures.next_nonce ?? 'unknown',
            }}
          />
        )}
        {transaction.error?.revert_data && (
          <Bytes name="Revert data" value={transaction.error.revert_data} isClosed>
            {signature !== undefined && (
              <code>{signature.replaceAll(/0x[\da-f]{40}\b/g, (address) => getAddress(address))}</code>
            )}
          </Bytes>
        )}
        <Suggestions suggestions={why.suggestions} of={transaction} />
      </Callout>
    </section>
  )
}

const ended: Record<Tone, Severity> = {
  ...{ good: 'succeeded', bad: 'critical', warn: 'warning', busy: 'info', idle: 'info' },
}
const onItsWay: ReadonlySet<TransactionExplanation['wait_reason']> = new Set([
  ...(['signature', 'acceptance', 'block', 'confirmations'] as const),
])

/** As the overview says it, where it does. */
function useSeverity(transaction: Transaction, { wait_reason }: TransactionExplanation): Severity {
  const problem = useProblems().data?.data.find(({ transaction_id }) => transaction_id === transaction.id)
  if (wait_reason === null) return ended[toneOf(transaction.status)]
  return problem?.severity ?? (onItsWay.has(wait_reason) && !isSlow(transaction) ? 'info' : 'warning')
}

/** Whether the next block may include it at its price. */
const isPaid = ({ max_fee_per_gas: price, base_fee }: TransactionExplanation['figures']): boolean =>
  price !== null && base_fee !== null && BigInt(price) >= BigInt(base_fee)

/** What the service suggests first to do with the transaction itself, as a higher price where that keeps it out of a block. */
export const suggestedIn = ({
  suggestions: [first],
  transaction_id,
}: TransactionExplanation): TransactionSuggestion['operation'] =>
  first?.transaction_id === transaction_id ? first.operation : null

/** The remedies that the service suggests, as buttons if the API key has the scope for them. */
function Suggestions({ suggestions, of: its }: { suggestions: TransactionSuggestion[]; of: Transaction }) {
  const symbol = useSymbolOf(its.relayer_id)
  // A retry of the service may remove the suggestion for a moment: an open dialog stays open.
  const [openedWith, setOpenedWith] = useState<TransactionSuggestion[]>()
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
            <SuggestedAction suggestion={suggestion} of={its} whileOpen={whileOpen} />
          </li>
        ))}
      </ul>
    </div>
  )
}

/** A key that does not change with the figures of the text, so that the button keeps the focus and the dialog stays open. */
const keyOf = ({ operation }: TransactionSuggestion, before: TransactionSuggestion[]) =>
  `${operation} ${before.filter((other) => other.operation === operation).length}`
