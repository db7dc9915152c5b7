import { Link } from 'wouter'
import type { Problem } from '../../index.ts'
import { Callout } from '../components/feedback.tsx'
import { reasonText, sentence } from '../data/format.ts'
import { paths } from '../data/paths.ts'
import { useProblems, useSymbolOf } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { Compared } from '../problems/external-transactions.tsx'

const kinds: ReadonlySet<Problem['kind']> = new Set([
  ...([
    'balance_empty',
    'balance_low',
    'transaction_waiting',
    'transaction_slow',
    'nonces',
    'external_transactions',
    'requests_refused',
  ] as const),
])

/** What the overview says of a relayer. Other lines of its page say that it is paused or disabled. */
export function RelayerTroubles({ relayer_id }: { relayer_id: string }) {
  const symbol = useSymbolOf(relayer_id)
  const { may } = useSession()
  const its = useProblems().data?.data.filter((one) => one.relayer_id === relayer_id && kinds.has(one.kind))
  return its?.map(({ id, kind, severity, summary, reason, transaction_id }) => (
    <Callout of={severity} key={id}>
      <p>
        {ofItself(summary, relayer_id)} {reasonText(sentence(reason), symbol)}{' '}
        {transaction_id !== null && (
          <Link to={paths.transaction({ relayer_id, id: transaction_id })}>Open the transaction</Link>
        )}
      </p>
      {kind === 'external_transactions' && may('manage') && <Compared relayer_id={relayer_id} symbol={symbol} />}
    </Callout>
  ))
}

/** An ID keeps its letters, and the page of a relayer need not name it. */
function ofItself(summary: string, relayerId: string): string {
  const name = [`${relayerId}: `, `${relayerId} · `].find((one) => summary.startsWith(one))
  if (name !== undefined) return sentence(summary.slice(name.length))
  return summary.startsWith(relayerId) ? `${summary}.` : sentence(summary)
}
