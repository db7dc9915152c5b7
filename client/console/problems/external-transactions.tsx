import { useMutation } from '@tanstack/react-query'
import { Action } from '../components/action.tsx'
import { TransactionHash } from '../components/values.tsx'
import { amount, count, counted } from '../data/format.ts'
import { useNetworkOf } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'

const maxShown = 100

/** Ends the notice of another sender, after a restore of one's own database for example. Shows what was found. */
export function Compared({ relayer_id, symbol }: { relayer_id: string; symbol: string }) {
  const { client } = useSession()
  const network = useNetworkOf(relayer_id)
  // What is confirmed is what was listed when the dialog was opened.
  const found = useMutation({
    mutationFn: () =>
      client.get('/api/v1/relayers/{relayer_id}/external-transactions', {
        path: { relayer_id },
        query: { per_page: maxShown },
      }),
  })
  const shown = found.data?.data ?? []
  const all = found.data?.pagination.total_items ?? 0
  const transactions = shown.map(({ nonce, hash }) => ({ nonce, hash }))
  return (
    <Action
      label="Mark as compared"
      title={`Mark the transactions of ${relayer_id} as compared`}
      opened={() => {
        found.reset()
        found.mutate()
      }}
      effect={`Confirms that you have compared these transactions, which ${relayer_id} sent without this service, for example before its database was restored, with what is still to be sent. Until then, a request that repeats one of those that were found in a comparison is refused. Transactions that are found later are to be compared again.`}
      lack={shown.length === 0 ? 'Nothing is listed.' : undefined}
      run={(client) => client.relayers.acknowledgeExternalTransactions(relayer_id, { transactions })}
      message={({ acknowledged_count, remaining_count }) =>
        `${counted(acknowledged_count, 'transaction')} of ${relayer_id} marked as compared${remaining_count > 0 ? `; ${count(remaining_count)} more to compare` : ''}.`
      }
    >
      {found.isError && <p className="problem">{found.error.message}</p>}
      {found.data && (
        <>
          <p>{counted(all, 'transaction is', 'transactions are')} listed:</p>
          <ul className="plain">
            {shown.map(({ nonce, hash, to, value }) => (
              <li key={`${nonce} ${hash}`}>
                Nonce {nonce}
                {hash === null && ', which no node shows'}
                {value !== null && `: ${amount(value, symbol)} to ${to ?? 'a new contract'}`}
                {hash !== null && (
                  <>
                    {' '}
                    <TransactionHash value={hash} network={network} />
                    {value === null && ', whose content was not read'}
                  </>
                )}
              </li>
            ))}
            {all > shown.length && <li>{count(all - shown.length)} more are listed after these</li>}
          </ul>
        </>
      )}
    </Action>
  )
}
