import { useState } from 'react'
import { Link } from 'wouter'
import type { RelayerPoliciesPatch, SendTransactionRequest, Suggestion, Transaction } from '../../index.ts'
import { gwei, reasonText } from '../data/format.ts'
import { useSymbolOf } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { Copyable, RelayerLink, relayerPath, transactionPath } from './links.tsx'
import { PriceChange } from './price-change.tsx'

const relayer = '/api/v1/relayers/{relayer_id}'
const transaction = `${relayer}/transactions/{transaction_id}` as const

/** Of a suggestion that has a primary button of its own. */
export const isRemedy = ({ operation, body }: Suggestion): boolean =>
  operation === 'healNonce' || (operation === 'updateRelayer' && body !== null)

/** The remedies that the service suggests, as buttons if the API key has the scope for them. */
export function Suggestions({ suggestions, of: its }: { suggestions: Suggestion[]; of: Transaction }) {
  const symbol = useSymbolOf(its.relayer_id)
  // A retry of the service may remove the suggestion for a moment: an open dialog stays open.
  const [held, setHeld] = useState<Suggestion[]>()
  const shown = held ?? suggestions
  if (shown.length === 0) return null
  const hold = { opened: () => setHeld(shown), closed: () => setHeld(undefined) }
  return (
    <div className="remedies">
      <h2>Suggested actions</h2>
      <ul className="plain">
        {shown.map((suggestion, index) => (
          <li key={keyOf(suggestion, shown.slice(0, index))}>
            <span>{reasonText(suggestion.summary, symbol)}</span>{' '}
            <Remedy suggestion={suggestion} of={its} hold={hold} />
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
  of: its,
  hold,
}: {
  suggestion: Suggestion
  of: Transaction
  hold: { opened: () => void; closed: () => void }
}) {
  const { client, may, mayManageAll } = useSession()
  const path = { relayer_id, transaction_id: transaction_id ?? '' }
  // The transaction's own buttons are above, and stay where they are while the suggestions change.
  const isAbove = transaction_id === its.id
  const link = <Link to={transactionPath({ relayer_id, id: path.transaction_id })}>The transaction</Link>
  switch (operation) {
    case 'updateRelayer': {
      if (!may('manage')) return null
      if (!body) return <Link to={`${relayerPath(relayer_id)}/policies`}>Open the policies</Link>
      const change = body as { paused?: boolean; policies?: RelayerPoliciesPatch }
      return (
        <Action
          {...hold}
          label={change.paused === false ? 'Resume' : 'Change the policy'}
          title={change.paused === false ? `Resume relayer ${relayer_id}` : `Change the policy of ${relayer_id}`}
          told={
            change.paused === false ? (
              <>
                Relayer <RelayerLink id={relayer_id} /> is resumed.
              </>
            ) : (
              <>
                The policy of <RelayerLink id={relayer_id} /> is changed.
              </>
            )
          }
          tone="primary"
          effect={
            <p>
              Relayer {relayer_id}: {changeText(change)}. It applies to all its transactions.
            </p>
          }
          run={() => client.patch(relayer, { path: { relayer_id }, body: change })}
        />
      )
    }
    case 'replaceTransaction':
      if (!may('send')) return null
      if (!body)
        return <Link to={`/sandbox/${encodeURIComponent(relayer_id)}/${path.transaction_id}`}>Open in the sandbox</Link>
      if (isAbove) return <span className="hint">“Speed up”</span>
      return (
        <Action
          {...hold}
          label="Speed up"
          tone="primary"
          effect={
            <p>
              Signs the same transaction again with the same nonce, at the price of the tier “{String(body.speed)}”.
            </p>
          }
          run={() => client.put(transaction, { path, body: body as SendTransactionRequest })}
          told={<>{link} is sped up. Its timeline shows what the nodes answer.</>}
        >
          <PriceChange of={its} body={body as SendTransactionRequest} />
        </Action>
      )
    case 'cancelTransaction':
      if (!may('send')) return null
      if (isAbove) return <span className="hint">“Cancel”</span>
      return (
        <Action
          {...hold}
          label="Cancel it"
          title="Cancel transaction"
          dismiss="Keep it"
          tone="danger"
          effect={
            <p>
              Replaces it with a transfer of 0 to the relayer itself with the same nonce, which costs a fee. If it is
              mined first, it stays.
            </p>
          }
          told={<>{link} is being canceled. Its page shows whether it was mined first.</>}
          run={() => client.delete(transaction, { path })}
        />
      )
    case 'healNonce':
      if (!may('send')) return null
      return (
        <Action
          {...hold}
          label="Repair the nonces"
          tone="primary"
          effect={
            <p>
              Asks every node of {relayer_id} for its transaction count, and corrects the nonces of unsigned
              transactions.
            </p>
          }
          run={() => client.post(`${relayer}/nonce/heal`, { path, body: {} })}
          told={
            <>
              The nonces of <RelayerLink id={relayer_id} /> are repaired: they agree with what the nodes report.
            </>
          }
        />
      )
    case 'updateNetwork':
      return <Link to="/networks">{mayManageAll ? 'Open the nodes to change them' : 'Open the nodes'}</Link>
    case null:
      return summary.includes(its.from) ? <Copyable value={its.from} whole /> : null
    default:
      return null
  }
}

function changeText({ paused, policies }: { paused?: boolean; policies?: RelayerPoliciesPatch }): string {
  if (paused !== undefined) return paused ? 'stops signing and sending' : 'signs and sends again'
  return Object.entries(policies ?? {})
    .map(
      ([name, value]) => `${name} becomes ${name === 'gas_price_cap' ? `${gwei(String(value))} gwei` : String(value)}`,
    )
    .join(', ')
}
