import { useState } from 'react'
import { Action } from '../components/action.tsx'
import { Loaded } from '../components/feedback.tsx'
import { Copyable } from '../components/values.tsx'
import { amount, count, counted } from '../data/format.ts'
import { useAnswer } from '../data/get.ts'

const maxShown = 20

/** Ends the notice of another sender, after a restore of one's own database for example. Shows what was found. */
export function Compared({ relayer_id, symbol }: { relayer_id: string; symbol: string }) {
  const [isOpen, open] = useState(false)
  const found = useAnswer(
    '/api/v1/relayers/{relayer_id}/external-transactions',
    { path: { relayer_id }, query: { per_page: maxShown } },
    { isEnabled: isOpen },
  )
  return (
    <Action
      label="Mark as compared"
      title={`Mark the transactions of ${relayer_id} as compared`}
      tone="quiet"
      opened={() => open(true)}
      effect={`Says that what ${relayer_id} sent without this service, for example before its database was restored, was compared with what is still to be sent. Until then, an equal request is refused. The next transaction that this service does not know is told again.`}
      run={(client) => client.relayers.reconcileNonce(relayer_id, { acknowledge_external: true })}
      message={`The transactions of ${relayer_id} are marked as compared.`}
    >
      {isOpen && (
        <Loaded query={found} lines={2}>
          {({ data, pagination: { total_items } }) => (
            <>
              <p>{counted(total_items, 'transaction is', 'transactions are')} listed:</p>
              <ul className="plain">
                {data.map(({ nonce, hash, to, value }) => (
                  <li key={`${nonce} ${hash}`}>
                    Nonce {nonce}
                    {hash === null ? (
                      ', which no node shows'
                    ) : (
                      <>
                        {value !== null && `: ${amount(value, symbol)}`} to {to ?? 'a new contract'}{' '}
                        <Copyable value={hash} />
                      </>
                    )}
                  </li>
                ))}
                {total_items > data.length && <li>and {count(total_items - data.length)} more</li>}
              </ul>
            </>
          )}
        </Loaded>
      )}
    </Action>
  )
}
