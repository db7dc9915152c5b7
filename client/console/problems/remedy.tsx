import { lazy, Suspense } from 'react'
import { Link } from 'wouter'
import type { Problem } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { counted } from '../data/format.ts'
import { useRelayers } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { Compared } from './external-transactions.tsx'
import { Fund } from './fund.tsx'

const WaitingRemedy = lazy(async () => ({
  default: (await import('../transactions/waiting-remedy.tsx')).WaitingRemedy,
}))

/** What ends the problem, where one step does; else its page `to` says what can be done. `symbol`: of its network's coin. */
export function Remedy({ problem, symbol, to }: { problem: Problem; symbol: string; to: string }) {
  const { kind, relayer_id, notification_id, transaction_id } = problem
  const { may } = useSession()
  if (notification_id !== null && kind === 'notification_failing' && may('notifications'))
    return (
      <Action
        label="Redeliver now"
        title={`Redeliver the deliveries of ${notification_id}`}
        effect="Redelivers every waiting delivery now, in the order of the events."
        run={(client) => client.notifications.redeliverDeliveries(notification_id, { status: 'pending' })}
        message={({ redelivered_count }) =>
          `${counted(redelivered_count, 'delivery of', 'deliveries of')} ${notification_id} redelivered now.`
        }
      />
    )
  if (kind === 'transaction_waiting' && transaction_id !== null)
    return (
      <Suspense fallback={null}>
        <WaitingRemedy transaction_id={transaction_id} to={to} />
      </Suspense>
    )
  if (kind === 'external_transactions' && relayer_id !== null && may('manage'))
    return <Compared relayer_id={relayer_id} symbol={symbol} />
  if (kind === 'relayer_paused' && relayer_id !== null && may('manage'))
    return (
      <Action
        label="Resume"
        thing={`relayer ${relayer_id}`}
        command={`resume ${relayer_id} from its problem`}
        effect="The relayer signs and sends again, and its waiting transactions continue."
        run={(client) => client.relayers.update(relayer_id, { paused: false })}
      />
    )
  if (kind === 'nonces' && relayer_id !== null && may('send'))
    return (
      <Action
        label="Repair the nonces"
        title={`Repair the nonces of ${relayer_id}`}
        effect={`Asks every node of ${relayer_id} for its transaction count, and corrects the nonces of unsigned transactions.`}
        run={(client) => client.relayers.reconcileNonce(relayer_id, {})}
        message={({ summary }) => `${relayer_id}: ${summary}`}
      />
    )
  if (kind === 'balance_empty' || kind === 'balance_low') return <FundAll problems={[problem]} />
  const step = steps[kind]
  return (
    step && (
      <Link to={to} className="button">
        {step}
      </Link>
    )
  )
}

/** Funds the relayers of problems without funds. */
export function FundAll({ problems }: { problems: Problem[] }) {
  const ids = new Set(problems.map(({ relayer_id }) => relayer_id))
  const relayers = useRelayers().data?.filter(({ id }) => ids.has(id)) ?? []
  return relayers.length > 0 && <Fund of={relayers} />
}

/** What to do on the page of the problem, where no button does it here. */
const steps: Partial<Record<Problem['kind'], string>> = {
  service: 'Open the service',
  network_down: 'Check the nodes',
  network_still: 'Check the nodes',
  node_unhealthy: 'Check the nodes',
  relayer_disabled: 'See why',
  sponsorship_used_up: 'Edit the budget',
  funding: 'Check the refills',
  transaction_slow: 'See why',
  transactions_failed: 'See why',
  requests_refused: 'Edit the policy',
  deliveries_failed: 'Redeliver',
  notification_disabled: 'See why',
}
