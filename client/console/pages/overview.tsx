import { Link } from 'wouter'
import { age, ether, words } from '../data/format.ts'
import { max_examined, useOverview } from '../data/overview.ts'
import type { Observed, Trouble } from '../data/troubles.ts'
import { ActivityCharts } from '../parts/activity.tsx'
import { Badge } from '../parts/badge.tsx'
import { Loaded, Skeleton } from '../parts/feedback.tsx'
import { RelayerLink, transactionPath } from '../parts/links.tsx'

const max_relayers = 200

/** Problems come first. */
export function Overview() {
  const { relayers, queues, observed, troubles } = useOverview()
  return (
    <>
      <h1>Overview</h1>
      <Loaded query={queues} lines={2}>
        {() => <Troubles troubles={troubles} />}
      </Loaded>
      <section aria-labelledby="relayers">
        <h2 id="relayers">Relayers</h2>
        <Loaded query={relayers}>{() => <Relayers observed={observed} />}</Loaded>
      </section>
      <ActivityCharts />
      <div className="columns">
        <section aria-labelledby="nodes">
          <h2 id="nodes">Nodes</h2>
          <Nodes networks={observed.networks} />
        </section>
        <Webhooks notifications={observed.notifications} />
      </div>
    </>
  )
}

function Troubles({ troubles }: { troubles: Trouble[] }) {
  if (troubles.length === 0)
    return <p className="all-well">Nothing needs attention: all relayers work, and no transaction is stuck.</p>
  return (
    <section aria-labelledby="troubles" className="troubles">
      <h2 id="troubles">Needs attention ({troubles.length})</h2>
      <ul>
        {troubles.slice(0, max_relayers).map(({ key, rank, title, reason, path }) => (
          <li key={key} className={rank < 4 ? 'bad' : 'warn'}>
            <Link to={path}>
              <strong>{title}</strong>
              <span>{reason}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Relayers({ observed: { relayers, queues, statuses, nonces } }: { observed: Observed }) {
  const queueOf = new Map(queues.map((queue) => [queue.relayer_id, queue]))
  if (relayers.length === 0) return <p>This API key has access to no relayers.</p>
  const waits = (id: string) => queueOf.get(id)?.first?.waiting_for != null
  const sorted = [...relayers].sort((a, b) => Number(waits(b.id)) - Number(waits(a.id)))
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th>Relayer</th>
            <th>State</th>
            <th>Network</th>
            <th className="number">Balance</th>
            <th className="number">Unfinished</th>
            <th>Oldest unfinished</th>
            <th>Nonces</th>
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, max_relayers).map(({ id, network, paused, system_disabled, disabled_reason }) => {
            const { unfinished = 0, first = null } = queueOf.get(id) ?? {}
            const nonce = nonces.get(id)
            const status = statuses.get(id)
            return (
              <tr key={id}>
                <td>
                  <RelayerLink id={id} />
                </td>
                <td title={disabled_reason ?? undefined}>
                  <Badge state={system_disabled ? 'disabled' : paused ? 'paused' : 'active'} />
                </td>
                <td>{network}</td>
                <td className="number">{status ? ether(status.balance) : '…'}</td>
                <td className="number">{unfinished}</td>
                <td>
                  {first ? (
                    <Link to={transactionPath({ relayer_id: id, id: first.transaction_id })}>
                      {first.waiting_for === null ? words(first.status) : `waits: ${words(first.waiting_for)}`},{' '}
                      {age(first.created_at)}
                    </Link>
                  ) : (
                    '–'
                  )}
                </td>
                <td>{nonce ? <Badge state={nonce.status} /> : '…'}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {relayers.length > max_examined && (
        <p className="hint">
          {relayers.length} relayers; balances and nonces of the first {max_examined} are read. Open a relayer to see
          its own.
        </p>
      )}
    </div>
  )
}

function Nodes({ networks }: { networks: Observed['networks'] }) {
  if (networks.length === 0) return <Skeleton lines={2} />
  return (
    <ul className="plain">
      {networks.flatMap(({ network, nodes }) =>
        nodes.map(({ url, status, block_number, response_ms }) => (
          <li key={`${network.id} ${url}`}>
            <Badge state={status} /> <Link to="/networks">{network.name}</Link> <code>{url}</code>{' '}
            {block_number !== null && (
              <span className="hint">
                block {block_number}, {response_ms} ms
              </span>
            )}
          </li>
        )),
      )}
    </ul>
  )
}

function Webhooks({ notifications }: { notifications: Observed['notifications'] }) {
  if (notifications.length === 0) return null
  return (
    <section aria-labelledby="webhooks">
      <h2 id="webhooks">Webhooks</h2>
      <ul className="plain">
        {notifications.map(({ notification: { id }, health: { status, pending, failed, failing_since } }) => (
          <li key={id}>
            <Badge state={status === 'disabled' ? 'disabled' : failing_since ? 'failing' : 'healthy'} />{' '}
            <Link to={`/notifications/${encodeURIComponent(id)}`}>{id}</Link>{' '}
            <span className="hint">
              {pending} due, {failed} failed
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
