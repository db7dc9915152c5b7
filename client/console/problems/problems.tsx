import { BellOff, ChevronDown, ChevronUp, CircleCheck, Undo2 } from 'lucide-react'
import { Fragment, lazy, Suspense, useState } from 'react'
import { Link } from 'wouter'
import type { Problem } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Callout, errorText, Mark, Skeleton, severities } from '../components/feedback.tsx'
import { Field, Select } from '../components/fields.tsx'
import { Lasting, Pending, Time } from '../components/values.tsx'
import { given, useForm } from '../data/form.ts'
import { count, reasonText, sentence } from '../data/format.ts'
import { useGet } from '../data/get.ts'
import { paths, type RelayerTab } from '../data/paths.ts'
import { callerName, isOpenProblem, useNetworks, useProblems, useRelayers } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { toneOf } from '../data/statuses.ts'
import { clock, time } from '../data/times.ts'

const Remedy = lazy(async () => ({ default: (await import('./remedy.tsx')).Remedy }))
const FundAll = lazy(async () => ({ default: (await import('./remedy.tsx')).FundAll }))
const Reason = lazy(async () => ({ default: (await import('../transactions/reason.tsx')).Reason }))

/** How long an answer counts as present. */
const freshMs = 30_000

/** What needs attention. "Nothing" is said only of what the service has checked, and not when its last answer is old. */
export function Problems() {
  const { data, error, dataUpdatedAt } = useProblems()
  const relayers = useRelayers().data
  if (data === undefined) return error ? <Unknown error={error} /> : <Skeleton lines={2} />
  const unchecked = data.data.filter(({ kind }) => kind === 'unchecked')
  const problems = data.data.filter(({ kind }) => kind !== 'unchecked')
  const networkOf = (relayerId: string) => relayers?.find(({ id }) => id === relayerId)?.network
  const totalItems = data.pagination.total_items - unchecked.length
  const checkedAt = new Date(dataUpdatedAt).toISOString()
  const open = problems.filter(isOpenProblem)
  const isOld = error !== null || Date.now() - dataUpdatedAt > freshMs
  const isWell = totalItems === 0 && unchecked.length === 0 && !isOld
  return (
    <section aria-labelledby="troubles" className="troubles">
      {isOld && <Unknown error={error} since={checkedAt} />}
      <div className="bar">
        <h2 id="troubles">Needs attention{open.length > 0 && ` (${count(open.length)})`}</h2>
        <Tallies problems={problems} />
        <span className="hint">
          Checked at <Time at={checkedAt}>{clock(checkedAt)}</Time>
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
          {causesOf(problems, networkOf).map(({ group, effects }) => (
            <Fragment key={group[0]?.id}>
              <Alike problems={group} />
              {groupsOf(effects).map((its) => (
                <Alike key={its[0]?.id} problems={its} isPart />
              ))}
            </Fragment>
          ))}
        </ul>
      )}
      {totalItems > problems.length && (
        <p className="hint">
          Showing the {count(problems.length)} most urgent of {count(totalItems)}.
        </p>
      )}
      {unchecked.map((its) => (
        <Callout key={its.id} of="warning">
          {its.summary}. {its.reason}
        </Callout>
      ))}
    </section>
  )
}

/** So many of one kind are shown one by one; more are one line that opens. */
const maxAlike = 2

/** Problems of the same kind and urgency, in the order of the first of each. */
function groupsOf(problems: Problem[]): Problem[][] {
  const groups = new Map<string, Problem[]>()
  for (const its of problems) {
    const key = `${its.kind} ${its.severity} ${its.acknowledgement === null ? '' : its.id}`
    groups.set(key, [...(groups.get(key) ?? []), its])
  }
  return [...groups.values()]
}

/** What only shows another problem: it ends with that one. */
const effects: ReadonlySet<Problem['kind']> = new Set(['transaction_waiting', 'transaction_slow'])
const causes: ReadonlySet<Problem['kind']> = new Set([
  ...(['network_down', 'network_still', 'relayer_disabled', 'relayer_paused'] as const),
])

/** The groups of problems, each with what it causes; a cause stands where the most urgent of them would. */
function causesOf(problems: Problem[], networkOf: (relayerId: string) => string | undefined) {
  const causeOf = (its: Problem) =>
    its.relayer_id !== null && effects.has(its.kind)
      ? problems.find(
          (one) =>
            causes.has(one.kind) &&
            (one.relayer_id === its.relayer_id ||
              (one.network_id !== null && one.network_id === `evm:${networkOf(its.relayer_id ?? '')}`)),
        )
      : undefined
  const order = [...new Set(problems.map((its) => causeOf(its) ?? its))]
  return groupsOf(order).map((group) => ({
    group,
    effects: problems.filter((its) => group.includes(causeOf(its) as Problem)),
  }))
}

/** Problems of one kind: a few are shown one by one, more are one line that opens. */
const Alike = ({ problems, isPart = false }: { problems: Problem[]; isPart?: boolean }) =>
  problems.length > maxAlike ? (
    <Group problems={problems} isPart={isPart} />
  ) : (
    problems.map((problem) => <OneProblem key={problem.id} problem={problem} isPart={isPart} />)
  )

const severityOf = (problem: Problem) => (isOpenProblem(problem) ? problem.severity : 'known')
const classOf = (problem: Problem) => toneOf(severityOf(problem))

/** How many there are of each severity. */
const Tallies = ({ problems }: { problems: Problem[] }) => (
  <ul className="tallies" aria-label="By severity">
    {Object.entries(severities).map(([its, { Shape, word, many }]) => {
      const number = problems.filter((problem) => severityOf(problem) === its).length
      return (
        number > 0 && (
          <li key={its} className={toneOf(its)}>
            <Shape className="icon" aria-hidden /> {count(number)} {number === 1 ? word : many}
          </li>
        )
      )
    })}
  </ul>
)

/** What others have too, a network or the service, is acknowledged with a key for all relayers. */
function useMayAcknowledge() {
  const { may, mayManageAll } = useSession()
  return ({ relayer_id, notification_id }: Problem) =>
    relayer_id === null && notification_id === null ? mayManageAll : may('manage')
}

function Group({ problems, isPart }: { problems: Problem[]; isPart: boolean }) {
  const mayAcknowledge = useMayAcknowledge()
  const [isShown, show] = useState(false)
  const [first] = problems
  if (!first) return null
  const Chevron = isShown ? ChevronUp : ChevronDown
  // The mark stays beside the last word.
  const [, start, end] = /^(.*) (\S+)$/.exec(groupText(problems)) ?? ['', '', groupText(problems)]
  return (
    <>
      <li className={isPart ? `${classOf(first)} part` : classOf(first)}>
        <Mark of={severityOf(first)} />
        <div className="about">
          <button type="button" className="unfold" aria-expanded={isShown} onClick={() => show(!isShown)}>
            <strong>
              {start}{' '}
              <span className="whole-id">
                {end} <Chevron className="icon" aria-hidden />
              </span>
            </strong>
          </button>
          <span className="detail">
            {problems.map((problem, index) => (
              <Fragment key={problem.id}>
                {index > 0 && ', '}
                <Link to={problemPath(problem)}>{nameOf(problem)}</Link>
              </Fragment>
            ))}
          </span>
        </div>
        {isOfFunds(first) && (
          <Suspense fallback={null}>
            <FundAll problems={problems} />
          </Suspense>
        )}
        {mayAcknowledge(first) && isOpenProblem(first) && (
          <Acknowledge problems={problems} summary={groupText(problems)} />
        )}
      </li>
      {isShown && problems.map((one) => <OneProblem key={one.id} problem={one} isPart />)}
    </>
  )
}

const isOfFunds = ({ kind }: Problem) => kind === 'balance_empty' || kind === 'balance_low'

/** What it is about. */
const nameOf = ({ relayer_id, notification_id, network_id, pool_id, sponsorship_id, summary }: Problem): string =>
  relayer_id ?? notification_id ?? network_id?.slice('evm:'.length) ?? pool_id ?? sponsorship_id ?? summary

/** What several have in common. */
const alike: Record<Problem['kind'], string> = {
  network_down: 'networks are down',
  network_still: 'networks have no new blocks',
  node_unhealthy: 'networks have a node that is not healthy',
  relayer_disabled: 'relayers are disabled',
  relayer_paused: 'relayers are paused',
  transaction_waiting: 'relayers have a transaction that waits',
  transaction_slow: 'relayers have a transaction that takes long',
  nonces: 'relayers have nonces that do not match the chain',
  balance_low: 'relayers are low on funds',
  balance_empty: 'relayers have no funds',
  funding: 'relayers are not being refilled',
  notification_disabled: 'notifications are disabled',
  notification_failing: 'notifications are failing',
  deliveries_failed: 'notifications have failed deliveries',
  external_transactions: 'relayers have transactions that this service did not send',
  requests_refused: 'rules refused requests',
  sponsorship_used_up: 'sponsorships have used up their budget',
  transactions_failed: 'relayers had failed transactions in the last 24 h',
  service: 'parts of the service do not work',
  unchecked: 'parts of the service could not be checked',
}

/** A newer service may know kinds that this page does not. */
const groupText = (problems: Problem[]) =>
  problems.length === 1 || !problems[0]
    ? (problems[0]?.summary ?? '')
    : `${count(problems.length)} ${alike[problems[0].kind] ?? 'other problems'}`

const Unknown = ({ error, since }: { error: unknown; since?: string }) => (
  <Callout of="warning" isAlert>
    The problems of the service are not known{since === undefined ? '' : ` since ${time(since)}`}.{' '}
    {error ? errorText(error) : 'The service has not answered.'}
  </Callout>
)

/** `isPart`: of a group that is open. */
function OneProblem({ problem, isPart = false }: { problem: Problem; isPart?: boolean }) {
  const mayAcknowledge = useMayAcknowledge()
  const { summary, since, acknowledgement } = problem
  const reason = sentence(problem.reason)
  const symbol = useSymbolOfProblem(problem)
  const shown = reasonText(reason, symbol)
  const { failed, isLoading } = useLastFailure(problem)
  const title = useTitle(problem)
  return (
    <li className={isPart ? `${classOf(problem)} part` : classOf(problem)}>
      <Mark of={severityOf(problem)} />
      <Link to={problemPath(problem)} className="about">
        <strong>{title}</strong>
        {since !== null && (
          <>
            {' '}
            <span className="since">
              for <Lasting since={since} />
            </span>
          </>
        )}
        <span className="detail" title={shown}>
          <Suspense fallback={<Pending />}>
            {failed ? <Reason text={reason} of={failed} isPlain /> : isLoading ? <Pending /> : shown}
          </Suspense>
        </span>
        {acknowledgement && (
          <span className="detail">
            {acknowledgement.caller_name ?? callerName(acknowledgement.caller)} is dealing with it until{' '}
            {time(acknowledgement.until)}
            {acknowledgement.note !== null && `: ${acknowledgement.note}`}
          </span>
        )}
      </Link>
      <Suspense fallback={null}>
        <Remedy problem={problem} symbol={symbol} to={problemPath(problem)} />
      </Suspense>
      {mayAcknowledge(problem) &&
        (isOpenProblem(problem) ? (
          <Acknowledge problems={[problem]} summary={summary} />
        ) : (
          <Withdraw problem={problem} />
        ))}
    </li>
  )
}

/** What it says, with the name of its relayer, where that is another than its ID. */
function useTitle({ summary, relayer_id }: Problem): string {
  const name = useRelayers().data?.find(({ id }) => id === relayer_id)?.name
  if (relayer_id === null || name === undefined || name === relayer_id) return summary
  return summary.replace(relayer_id, () => `${relayer_id} (${name})`)
}

function useSymbolOfProblem({ relayer_id, network_id }: Problem): string {
  const relayers = useRelayers()
  const networks = useNetworks()
  const network = relayers.data?.find(({ id }) => id === relayer_id)?.network
  const its = networks.data?.find(({ id, name }) => id === network_id || name === network)
  return its?.symbol ?? 'coins'
}

/** The tab of a relayer with the remedy, where it is another than the first one. */
const pageOf: Partial<Record<Problem['kind'], RelayerTab>> = {
  nonces: 'nonces',
  funding: 'funding',
  requests_refused: 'policies',
}

/** The page with the cause and the remedy. */
export function problemPath({ kind, relayer_id, transaction_id, count: number, ...its }: Problem) {
  const { notification_id, network_id, pool_id, sponsorship_id } = its
  if (relayer_id !== null && kind === 'transactions_failed' && number > 1)
    return paths.group(paths.relayer(relayer_id, 'list'), 'failed')
  if (relayer_id !== null && transaction_id !== null) return paths.transaction({ relayer_id, id: transaction_id })
  if (relayer_id !== null) return paths.relayer(relayer_id, pageOf[kind])
  if (notification_id !== null) return paths.notification(notification_id)
  if (pool_id !== null) return paths.pool(pool_id)
  if (sponsorship_id !== null) return paths.sponsorships
  return network_id === null ? paths.service : paths.network(network_id)
}

const spans = { '60': '1 h', '480': '8 h', '1440': '24 h', '10080': '7 d' } as const

/** `summary`: what all of them are about. */
function Acknowledge({ problems, summary }: { problems: Problem[]; summary: string }) {
  const { values, bind } = useForm({ minutes: '60', note: '' })
  const body = { minutes: Number(values.minutes), ...given({ note: values.note.trim() }) }
  return (
    <Action
      label="Acknowledge"
      icon={BellOff}
      tone="quiet"
      message={`“${summary}” is acknowledged.`}
      effect={`${summary}. Everybody sees that you are dealing with it, and it moves to the end of the list.`}
      run={(client) => Promise.all(problems.map(({ id }) => client.problems.update(id, { acknowledgement: body })))}
    >
      <Select label="For" values={Object.entries(spans)} {...bind('minutes')} />
      <Field label="Note (optional)" maxLength={200} {...bind('note')} />
    </Action>
  )
}

const Withdraw = ({ problem: { id, summary } }: { problem: Problem }) => (
  <Action
    label="Withdraw"
    icon={Undo2}
    tone="quiet"
    message={`The acknowledgement is withdrawn: “${summary}” is open again.`}
    effect={`${summary}. It is open again, for everybody.`}
    run={(client) => client.problems.update(id, { acknowledgement: null })}
  />
)

/** The transaction that failed last: its call tells the units of the reason. `isLoading`: they are not known yet. */
function useLastFailure({ kind, relayer_id, transaction_id }: Problem) {
  const isOfFailure = kind === 'transactions_failed'
  const { data, isLoading } = useGet(
    '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}',
    { path: { relayer_id: relayer_id ?? '', transaction_id: transaction_id ?? '' } },
    { isEnabled: isOfFailure && relayer_id !== null && transaction_id !== null, freshMs: Number.POSITIVE_INFINITY },
  )
  return { failed: isOfFailure ? data : undefined, isLoading }
}
