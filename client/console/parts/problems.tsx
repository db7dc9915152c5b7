import { BellOff, ChevronDown, ChevronUp, CircleAlert, CircleCheck, TriangleAlert, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import type { Problem as Its, Problems as List } from '../../index.ts'
import { count, inCoins, sentence, time, withGroups } from '../data/format.ts'
import { useNetworks, useProblems, useRelayerIds } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { errorText, Problem, Skeleton } from './feedback.tsx'
import { relayerPath, transactionPath } from './links.tsx'
import { Age, Moment } from './moment.tsx'

/** How long an answer counts as present. */
const fresh_ms = 30_000
const one = '/api/v1/problems/{problem_id}/acknowledgement'

/** What needs attention. "Nothing" is said only of what the service has checked, and not when its last answer is old. */
export function Problems() {
  const { data, error, dataUpdatedAt } = useProblems()
  if (data === undefined) return error ? <Unknown error={error} /> : <Skeleton lines={2} />
  const { problems, unchecked, checked_at } = data.data
  const { total_items } = data.pagination
  const isOld = error !== null || Date.now() - dataUpdatedAt > fresh_ms
  const isWell = total_items === 0 && unchecked.length === 0 && !isOld
  return (
    <section aria-labelledby="troubles" className="troubles">
      {isOld && <Unknown error={error} since={checked_at} />}
      <div className="bar">
        <h2 id="troubles">{total_items > 0 ? `Needs attention (${count(total_items)})` : 'Attention'}</h2>
        <span className="hint">
          Checked at <Moment at={checked_at} />
        </span>
      </div>
      {isWell && (
        <p className="all-well">
          <CircleCheck className="icon" aria-hidden />
          Nothing needs attention.
        </p>
      )}
      {problems.length > 0 && (
        <ul>
          {groupsOf(problems).map((group) =>
            group.length > max_alike ? (
              <Group key={group[0]?.id} its={group} />
            ) : (
              group.map((problem) => <OneProblem key={problem.id} its={problem} />)
            ),
          )}
        </ul>
      )}
      {total_items > problems.length && (
        <p className="hint">
          The {count(problems.length)} most urgent of {count(total_items)} are shown.
        </p>
      )}
      {unchecked.map((its) => (
        <Unchecked key={its.part} its={its} />
      ))}
    </section>
  )
}

/** So many of one kind are shown one by one; more are one line that opens. */
const max_alike = 2

/** Problems of the same kind and urgency, in the order of the first of each. */
function groupsOf(problems: Its[]): Its[][] {
  const groups = new Map<string, Its[]>()
  for (const its of problems) {
    const key = `${its.kind} ${its.severity} ${its.acknowledgement === null ? '' : its.id}`
    groups.set(key, [...(groups.get(key) ?? []), its])
  }
  return [...groups.values()]
}

function Group({ its }: { its: Its[] }) {
  const { may } = useSession()
  const [isOpen, setOpen] = useState(false)
  const [first] = its
  if (!first) return null
  const isBad = first.severity === 'critical'
  const names = its
    .slice(0, 3)
    .map(({ relayer_id, notification_id, network_id }) => relayer_id ?? notification_id ?? network_id)
  return (
    <>
      <li className={isBad ? 'bad' : 'warn'}>
        {isBad ? <CircleAlert className="icon" aria-hidden /> : <TriangleAlert className="icon" aria-hidden />}
        <Link to={pathOf(first)}>
          <strong>{groupText(its)}</strong>
          <span>
            {names.join(', ')}
            {its.length > names.length && ` and ${count(its.length - names.length)} more`}
          </span>
        </Link>
        <button type="button" className="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? <ChevronUp className="icon" aria-hidden /> : <ChevronDown className="icon" aria-hidden />}
          <span>{isOpen ? 'Show less' : 'Show each'}</span>
        </button>
        {may('manage') && first.acknowledgement === null && <Acknowledge its={its} />}
      </li>
      {isOpen && its.map((one) => <OneProblem key={one.id} its={one} />)}
    </>
  )
}

/** What several have in common. */
const alike: Record<Its['kind'], string> = {
  network_down: 'networks are down',
  node_unhealthy: 'networks have a node that is not healthy',
  relayer_disabled: 'relayers are disabled',
  relayer_paused: 'relayers are paused',
  transaction_waiting: 'relayers have a transaction that waits',
  transaction_slow: 'relayers have a transaction that takes long',
  nonces: 'relayers disagree with the chain about nonces',
  balance_low: 'relayers have little funds',
  balance_empty: 'relayers have no funds',
  funding: 'relayers are not refilled',
  notification_disabled: 'webhooks are disabled',
  notification_failing: 'webhooks fail',
  deliveries_failed: 'webhooks have failed deliveries',
  transactions_failed: 'relayers had failed transactions in the last 24 hours',
  service: 'parts of the service do not work',
}

const groupText = (its: Its[]) =>
  its.length === 1 || !its[0] ? (its[0]?.summary ?? '') : `${count(its.length)} ${alike[its[0].kind]}`

const Unknown = ({ error, since }: { error: unknown; since?: string }) => (
  <Problem>
    What needs attention is not known{since === undefined ? '' : ` since ${time(since)}`}.{' '}
    {error ? errorText(error) : 'The service has not answered.'}
  </Problem>
)

const parts = {
  accounts: 'The balance and nonces could not be read of',
  nodes: 'The nodes could not be asked of',
  notifications: 'Not checked:',
} as const

const Unchecked = ({ its: { part, count: number, reason } }: { its: List['unchecked'][number] }) => (
  <p className="warn-line">
    {parts[part]} {part === 'accounts' ? `${count(number)} ${number === 1 ? 'relayer' : 'relayers'} (` : ''}
    {reason}
    {part === 'accounts' ? ')' : ''}
  </p>
)

function OneProblem({ its }: { its: Its }) {
  const { may } = useSession()
  const { severity, summary, reason, since, acknowledgement } = its
  const symbol = useSymbolOfProblem(its)
  const isBad = severity === 'critical'
  return (
    <li className={acknowledgement ? 'known' : isBad ? 'bad' : 'warn'}>
      {isBad ? <CircleAlert className="icon" aria-hidden /> : <TriangleAlert className="icon" aria-hidden />}
      <Link to={pathOf(its)}>
        <strong>{summary}</strong>
        <span>
          {withGroups(sentence(inCoins(reason, symbol)))}
          {since !== null && (
            <>
              {' '}
              For <Age of={since} ago={false} />.
            </>
          )}
        </span>
        {acknowledgement && (
          <span>
            {acknowledgement.by} deals with it until {time(acknowledgement.until)}
            {acknowledgement.note !== null && `: ${acknowledgement.note}`}
          </span>
        )}
      </Link>
      {may('manage') && (acknowledgement ? <Withdraw its={its} /> : <Acknowledge its={[its]} />)}
    </li>
  )
}

function useSymbolOfProblem({ relayer_id, network_id }: Its): string {
  const relayers = useRelayerIds()
  const networks = useNetworks()
  const network = relayers.data?.find(({ id }) => id === relayer_id)?.network
  const its = networks.data?.find(({ id, name }) => id === network_id || name === network)
  return its?.symbol ?? 'coins'
}

/** The page with the cause and the remedy. */
function pathOf({ kind, relayer_id, transaction_id, notification_id, network_id, count: number }: Its): string {
  if (relayer_id !== null && kind === 'transactions_failed' && number > 1)
    return `${relayerPath(relayer_id)}/list/failed`
  if (relayer_id !== null && transaction_id !== null) return transactionPath({ relayer_id, id: transaction_id })
  if (relayer_id !== null) {
    const tab = kind === 'nonces' || kind === 'funding' ? `/${kind}` : ''
    return `${relayerPath(relayer_id)}${tab}`
  }
  if (notification_id !== null) return `/notifications/${encodeURIComponent(notification_id)}`
  return network_id === null ? '/' : '/networks'
}

const spans = { '1 hour': 60, '8 hours': 480, '1 day': 1_440, '7 days': 10_080 } as const

function Acknowledge({ its }: { its: Its[] }) {
  const { client } = useSession()
  const summary = groupText(its)
  const [minutes, setMinutes] = useState<number>(spans['1 hour'])
  const [note, setNote] = useState('')
  return (
    <Action
      label="Acknowledge"
      icon={BellOff}
      tone="quiet"
      told={`“${summary}” is acknowledged.`}
      effect={<p>{summary}. Everybody sees that you deal with it, and it moves to the end of the list.</p>}
      run={() =>
        Promise.all(
          its.map(({ id }) =>
            client.put(one, {
              path: { problem_id: id },
              body: { minutes, ...(note.trim() !== '' && { note: note.trim() }) },
            }),
          ),
        )
      }
    >
      <label>
        For
        <select value={minutes} onChange={(event) => setMinutes(Number(event.target.value))}>
          {Object.entries(spans).map(([name, value]) => (
            <option key={name} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        Note (optional)
        <input maxLength={200} value={note} onChange={(event) => setNote(event.target.value)} />
      </label>
    </Action>
  )
}

function Withdraw({ its: { id, summary } }: { its: Its }) {
  const { client } = useSession()
  return (
    <Action
      label="Withdraw"
      icon={Undo2}
      tone="quiet"
      told={`“${summary}” is open again.`}
      effect={<p>{summary}. It is open again, for everybody.</p>}
      run={() => client.delete(one, { path: { problem_id: id } })}
    />
  )
}

/** The number of problems that nobody deals with, for the tab's title. */
export function useOpenProblems(): number {
  const { data } = useProblems()
  return data?.data.problems.filter(({ acknowledgement }) => acknowledgement === null).length ?? 0
}
