import type {
  Network,
  NetworkNode,
  NonceState,
  Notification,
  NotificationHealth,
  Queue,
  Relayer,
  RelayerStatus,
  Transaction,
} from '../../index.ts'
import { relayerPath, transactionPath } from '../parts/links.tsx'
import { age, ether, words } from './format.ts'

/** A problem that needs an operator. `path`: the page with the reason and the remedy. */
export interface Trouble {
  key: string
  /** The most urgent has the lowest number. */
  rank: number
  title: string
  reason: string
  path: string
}

/** A transaction that is not mined after this time is a problem, even without a known reason. */
const slow_ms = 5 * 60_000
/** A failed transaction is shown for this long. */
const news_ms = 24 * 3_600_000

export interface Observed {
  relayers: Relayer[]
  queues: Queue[]
  statuses: Map<string, RelayerStatus>
  nonces: Map<string, NonceState>
  networks: { network: Network; nodes: NetworkNode[] }[]
  notifications: { notification: Notification; health: NotificationHealth }[]
  failed: Transaction[]
}

/** All problems that need an operator, the most urgent first. */
export function troublesOf(seen: Observed, now = Date.now()): Trouble[] {
  const stopped = new Set(seen.relayers.filter(({ system_disabled }) => system_disabled).map(({ id }) => id))
  return [
    ...seen.networks.flatMap(nodeTroubles),
    ...seen.relayers.flatMap(stateTroubles),
    ...seen.queues.flatMap((queue) => queueTroubles(queue, now)),
    ...seen.relayers.flatMap((relayer) => balanceTroubles(relayer, seen.statuses.get(relayer.id))),
    ...seen.relayers.filter(({ id }) => !stopped.has(id)).flatMap(({ id }) => nonceTroubles(id, seen.nonces.get(id))),
    ...seen.notifications.flatMap(({ notification, health }) => notificationTroubles(notification, health)),
    ...seen.failed.filter(({ created_at }) => now - Date.parse(created_at) < news_ms).map(failureTrouble),
  ].sort((a, b) => a.rank - b.rank)
}

function nodeTroubles({ network, nodes }: Observed['networks'][number]): Trouble[] {
  const bad = nodes.filter(({ status }) => status !== 'healthy')
  if (bad.length === 0) return []
  const all = bad.length === nodes.length
  return [
    {
      key: `network ${network.id}`,
      rank: all ? 0 : 4,
      title: `${network.name}: ${all ? 'no node is healthy' : `${bad.length} of ${nodes.length} nodes are not healthy`}`,
      reason: bad.map(({ url, status, error }) => `${url}: ${words(status)}${error ? ` (${error})` : ''}`).join('; '),
      path: '/networks',
    },
  ]
}

function stateTroubles({ id, paused, system_disabled, disabled_reason }: Relayer): Trouble[] {
  if (system_disabled) {
    const reason = disabled_reason ?? 'The service gives no reason.'
    return [{ key: `disabled ${id}`, rank: 1, title: `${id} is disabled`, reason, path: relayerPath(id) }]
  }
  if (!paused) return []
  const reason = 'An operator paused it: it signs and sends nothing.'
  return [{ key: `paused ${id}`, rank: 2, title: `${id} is paused`, reason, path: relayerPath(id) }]
}

function queueTroubles({ relayer_id, unfinished, first }: Queue, now: number): Trouble[] {
  if (!first) return []
  const isSlow = now - Date.parse(first.created_at) > slow_ms
  if (first.waiting_for === null && !isSlow) return []
  const behind = unfinished > 1 ? `, and ${unfinished - 1} more behind it` : ''
  const why = first.waiting_for === null ? 'not mined yet' : words(first.waiting_for)
  return [
    {
      key: `queue ${relayer_id}`,
      rank: first.waiting_for === null ? 5 : 2,
      title: `${relayer_id}: nonce ${first.nonce} has waited for ${age(first.created_at, now)}${behind}`,
      reason: `${why}: ${first.reason?.replace(/^.*?Waits: /s, '') ?? 'no known reason'}`,
      path: transactionPath({ relayer_id, id: first.transaction_id }),
    },
  ]
}

function balanceTroubles({ id, address, policies }: Relayer, status: RelayerStatus | undefined): Trouble[] {
  const { balance } = status ?? { balance: null }
  const min = policies.min_balance ?? '0'
  if (balance === null || (BigInt(balance) >= BigInt(min) && balance !== '0')) return []
  const reason =
    balance === '0'
      ? `Send funds to ${address}.`
      : `The balance is ${ether(balance)}, below the minimum of ${ether(min)}: send funds to ${address}.`
  const title = balance === '0' ? `${id} has no funds` : `${id} is low on funds`
  return [{ key: `balance ${id}`, rank: balance === '0' ? 6 : 3, title, reason, path: relayerPath(id) }]
}

function nonceTroubles(id: string, nonce: NonceState | undefined): Trouble[] {
  if (!nonce || nonce.status === 'in_step' || nonce.status === 'unreachable') return []
  const title = `${id}: nonces are out of sync with the chain (${words(nonce.status)})`
  return [{ key: `nonce ${id}`, rank: 2, title, reason: nonce.explanation, path: `${relayerPath(id)}/nonces` }]
}

function notificationTroubles({ id, url }: Notification, health: NotificationHealth): Trouble[] {
  const path = `/notifications/${encodeURIComponent(id)}`
  if (health.status === 'disabled') {
    const reason = health.disabled_reason ?? 'The service gives no reason.'
    return [{ key: `notification ${id}`, rank: 3, title: `Webhook ${id} is disabled`, reason, path }]
  }
  if (health.failing_since !== null) {
    const title = `Webhook ${id} has been failing for ${age(health.failing_since)}`
    return [
      {
        key: `notification ${id}`,
        rank: 3,
        title,
        reason: `${health.pending} deliveries to ${url} are pending.`,
        path,
      },
    ]
  }
  if (health.failed === 0) return []
  const reason = `All attempts failed: ${url} did not receive them.`
  return [
    { key: `notification ${id}`, rank: 5, title: `Webhook ${id}: ${health.failed} deliveries failed`, reason, path },
  ]
}

const failureTrouble = (transaction: Transaction): Trouble => ({
  key: `failed ${transaction.id}`,
  rank: 7,
  title: `${transaction.relayer_id}: a transaction failed ${age(transaction.confirmed_at ?? transaction.created_at)} ago`,
  reason: transaction.error?.message ?? transaction.status_reason ?? 'No reason was recorded.',
  path: transactionPath(transaction),
})
