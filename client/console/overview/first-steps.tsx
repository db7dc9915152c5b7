import { useQueries } from '@tanstack/react-query'
import { Wallet } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { EmptyState, SendOne } from '../components/feedback.tsx'
import { Copyable } from '../components/values.tsx'
import { paths } from '../data/paths.ts'
import { statusQuery, useNetworks, useRelayers } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { CreateRelayer } from '../relayers/create-relayer.tsx'

const pollMs = 5_000

interface Step {
  name: string
  text: ReactNode
  isDone: boolean
  /** Shown while it is the next one. */
  button: ReactNode
}

/** What to do up to the first transaction, in order: what of it is done, and the next step. `hold`: see CreateRelayer. */
export function FirstSteps({ hold }: { hold(isOpen: boolean): void }) {
  const { client, mayManageAll } = useSession()
  const networks = useNetworks().data ?? []
  const [relayer] = useRelayers().data ?? []
  const [status] = useQueries({
    queries: (relayer ? [relayer] : []).map(({ id }) => statusQuery(client, id, pollMs)),
  })
  if (!mayManageAll)
    return (
      <EmptyState icon={Wallet} title="No relayers">
        This API key has access to no relayers. Ask whoever gave it to you for access.
      </EmptyState>
    )
  const steps: Step[] = [
    {
      name: 'Add a network',
      text: networks[0] ? `Done: ${networks[0].name}.` : 'A chain and the URLs of its nodes.',
      isDone: networks.length > 0,
      button: (
        <Link to={paths.networks} className="button primary">
          Open networks
        </Link>
      ),
    },
    {
      name: 'Create a relayer',
      text: relayer ? `Done: ${relayer.id}.` : 'A key on a network. The service creates the key.',
      isDone: relayer !== undefined,
      button: <CreateRelayer hold={hold} />,
    },
    {
      name: 'Fund it',
      text: relayer ? <Copyable value={relayer.address} /> : 'Send coins of the network to its address.',
      isDone: BigInt(status?.data?.balance ?? 0) > 0n,
      button: relayer && (
        <Link to={paths.relayer(relayer.id)} className="button primary">
          Open {relayer.id}
        </Link>
      ),
    },
    {
      name: 'Send a transaction',
      text: 'In the sandbox, which also shows the code for it.',
      isDone: false,
      button: <SendOne relayer_id={relayer?.id} />,
    },
  ]
  const next = steps.find(({ isDone }) => !isDone)
  return (
    <section aria-labelledby="first">
      <h2 id="first">First steps</h2>
      <ol className="steps">
        {steps.map(({ name, text, isDone, button }) => (
          <li key={name} className={isDone ? 'met' : undefined} aria-current={name === next?.name ? 'step' : undefined}>
            <strong>
              {name}
              {isDone && <span className="hidden">: done</span>}
            </strong>
            <span>{text}</span>
            {/* The dialog of a button stays while it says what was made. */}
            <span hidden={name !== next?.name}>{button}</span>
          </li>
        ))}
      </ol>
    </section>
  )
}
