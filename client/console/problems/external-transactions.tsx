import { useState } from 'react'
import { Action } from '../components/action.tsx'
import { Loaded } from '../components/feedback.tsx'
import { Copyable } from '../components/values.tsx'
import { amount, count, counted } from '../data/format.ts'
import { useAnswer } from '../data/get.ts'

const maxShown = 100

/** Ends the notice of another sender, after a restore of one's own database for example. Shows what was found. */
export function Compared({ relayer_id, symbol }: { relayer_id: string; symbol: string }) {
  const [isOpen, open] = useState(false)
  const found = useAnswer(
    '/api/v1/relayers/{relayer_id}/external-transactions',
    { path: { relayer_id }, query: { per_page: maxShown } },
    { isEnabled: isOpen },
  )
  const shown = found.data?.data ?? []
  const transactions = shown.map(({ nonce, hash }) => ({ nonce, hash }))
  return (
    <Action
      label="Mark as compared"
      title={`Mark the transactions of ${relayer_id} as compared`}
      tone="quiet"
      opened={() => open(true)}
      effect={`Confirms that you have compared these transactions, which ${relayer_id} sent without this service, for example before its database was restored, with what is still to be sent. Until then, a request that repeats one of them is refused. Transactions that are found later are to be compared again.`}
      lack={shown.length === 0 ? 'Nothing is listed.' : undefined}
      run={(client) => client.relayers.acknowledgeExternalTransactions(relayer_id, { transactions })}
      message={({ acknowledged, remaining }) =>
        `${counted(acknowledged, 'transaction')} of ${relayer_id} marked as compared${remaining > 0 ? `; ${count(remaining)} more to compare` : ''}.`
      }
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
                {total_items > data.length && <li>{count(total_items - data.length)} more are listed after these</li>}
              </ul>
            </>
          )}
        </Loaded>
      )}
    </Action>
  )
}
