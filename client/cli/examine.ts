import type {
  Network,
  NonceState,
  Notification,
  Problem,
  ProblemKind,
  Relayer,
  RelayerStatus,
} from '../../generated/client.ts'
import { RelayerError } from '../error.ts'
import { createRelayerProvider } from '../provider.ts'
import { inCoins, withCoins } from './amounts.ts'
import { collect } from './collect.ts'
import type { Context } from './context.ts'
import { type Finding, fine, problem, warning } from './finding.ts'
import { inLine } from './terminal.ts'

const staleBlockS = 600

/** One relayer of each network asks a node. */
export async function* examineNetworks({ client }: Context): AsyncGenerator<Finding> {
  const relayers = await collect(client.all('/api/v1/relayers'))
  for await (const network of client.all('/api/v1/networks')) {
    const part = `network ${network.name}`
    const relayer = relayers.find((one) => one.network === network.name && one.custom_rpc_urls.length === 0)
    if (!relayer) {
      yield fine(part, 'no relayer uses its nodes')
      continue
    }
    const provider = createRelayerProvider(client, relayer.id)
    const ask = (method: string, params: unknown[] = []) => provider.request({ method, params })
    try {
      // The service knows the id of the chain without a node.
      const head = (await ask('eth_getBlockByNumber', ['latest', false])) as { timestamp: string } | null
      yield chainOf(part, network, Number(await ask('eth_chainId')))
      yield headOf(part, network, head)
    } catch (error) {
      yield problem(
        part,
        (error as Error).message,
        `Check its RPC endpoints: ${network.rpc_urls.map(({ url }) => url).join(', ')}`,
      )
    }
  }
}

function chainOf(part: string, { id, chain_id }: Network, answered: number): Finding {
  if (answered === chain_id) return fine(part, `a node answers on chain ${chain_id}`)
  const remedy = `Correct its RPC endpoints: relayer networks change ${id} --set 'rpc_urls=["https://..."]'`
  return problem(part, `the nodes are on chain ${answered} and not on ${chain_id}`, remedy)
}

function headOf(part: string, { is_testnet }: Network, block: { timestamp: string } | null): Finding {
  const ageS = Math.round(Date.now() / 1_000 - Number(block?.timestamp ?? 0))
  if (ageS <= staleBlockS || is_testnet) return fine(part, `the latest block is ${Math.max(0, ageS)} s old`)
  return warning(
    part,
    `the latest block is ${ageS} s old`,
    'The nodes may be behind their chain: compare them with a block explorer.',
  )
}

/** What the service calls problems. */
export const listProblems = async ({ client }: Context): Promise<Problem[]> =>
  (await client.get('/api/v1/problems', { query: { per_page: 1_000 } })).data

/** One that is critical, and that nobody has acknowledged. */
const isUrgent = ({ severity, acknowledgement }: Problem): boolean =>
  severity === 'critical' && acknowledgement === null

/** What is seen now, as severe as the service's list has it. */
function asListed(finding: Finding, problems: Problem[], id: string, ...kinds: ProblemKind[]): Finding {
  const isOf = ({ kind, relayer_id, notification_id }: Problem) =>
    kinds.includes(kind) && (relayer_id ?? notification_id) === id
  const known = problems.filter(isOf)
  if (finding.state === 'ok' || known.length === 0) return finding
  return { ...finding, state: known.some(isUrgent) ? 'problem' : 'warning' }
}

/** State, nonces and balance of every relayer. */
export async function* examineRelayers({ client }: Context, problems: Problem[]): AsyncGenerator<Finding> {
  const symbols = new Map<string, string | null>()
  for await (const { name, symbol } of client.all('/api/v1/networks')) symbols.set(name, symbol)
  for await (const relayer of client.all('/api/v1/relayers')) {
    const symbol = symbols.get(relayer.network) ?? null
    const path = { relayer_id: relayer.id }
    const { data: status } = await client.get('/api/v1/relayers/{relayer_id}/status', { path })
    const { data: nonce } = await client.get('/api/v1/relayers/{relayer_id}/nonce', { path })
    const part = `relayer ${relayer.id}`
    const { id } = relayer
    yield asListed(stateOf(part, relayer), problems, id, 'relayer_disabled', 'relayer_paused')
    yield asListed(nonceOf(part, relayer, nonce, symbol), problems, id, 'transaction_waiting', 'nonces')
    yield asListed(balanceOf(part, relayer, status, symbol), problems, id, 'balance_low', 'balance_empty')
  }
}

function stateOf(part: string, { id, paused, system_disabled, disabled_reason }: Relayer): Finding {
  if (system_disabled)
    return problem(
      part,
      `disabled: ${disabled_reason ?? 'no reason is stored'}`,
      'Remove the cause: the service enables it again.',
    )
  if (paused) return warning(part, 'paused', `To continue: relayer relayers change ${id} --set paused=false`)
  return fine(part, 'enabled')
}

function nonceOf(
  part: string,
  { id }: Relayer,
  { status, summary, blocking_transaction }: NonceState,
  symbol: string | null,
): Finding {
  if (blocking_transaction !== null) {
    const { transaction_id, nonce, wait_reason, status_reason: reason } = blocking_transaction
    const told = `nonce ${nonce} waits (${wait_reason?.replaceAll('_', ' ')}): ${withCoins(reason ?? 'no reason is stored', symbol)}`
    return problem(part, told, `All later transactions wait for it: relayer why ${transaction_id} --relayer ${id}`)
  }
  if (status === 'in_step') return fine(part, 'nonces agree with the chain')
  const remedy =
    status === 'unreachable'
      ? 'Check the nodes of its network.'
      : `The service corrects it. If it stays: POST /api/v1/relayers/${id}/nonce/reconcile`
  return (status === 'chain_restarted' ? problem : warning)(part, `nonces: ${summary}`, remedy)
}

function balanceOf(
  part: string,
  { address, policies }: Relayer,
  { balance }: RelayerStatus,
  symbol: string | null,
): Finding {
  const remedy = `Send funds to ${address}.`
  if (balance === null)
    return warning(part, 'the balance is unknown: no node answers', 'Check the nodes of its network.')
  const min = policies.min_balance ?? '0'
  const shown = inCoins(balance, symbol)
  if (BigInt(balance) < BigInt(min))
    return problem(part, `the balance of ${shown} is below its min_balance of ${inCoins(min, symbol)}`, remedy)
  return balance === '0' ? problem(part, 'the balance is 0', remedy) : fine(part, `the balance is ${shown}`)
}

/** The kinds that the other parts look at now; the service's list is up to a minute old. */
const examined: ReadonlySet<ProblemKind> = new Set<ProblemKind>([
  'network_down',
  'node_unhealthy',
  'relayer_disabled',
  'relayer_paused',
  'transaction_waiting',
  'nonces',
  'balance_low',
  'balance_empty',
  'notification_disabled',
  'notification_failing',
  'deliveries_failed',
  'unchecked',
])

/** What else the service calls a problem. An acknowledged one is a warning: somebody deals with it. */
export function* examineProblems(problems: Problem[]): Generator<Finding> {
  const others = problems.filter(({ kind }) => !examined.has(kind))
  for (const one of others) {
    const { kind, summary, reason, transaction_id, relayer_id } = one
    const why = transaction_id === null ? '' : ` relayer why ${transaction_id} --relayer ${relayer_id}`
    yield (isUrgent(one) ? problem : warning)(kind, summary, `${inLine(reason)}${why}`)
  }
  if (others.length === 0) yield fine('problems', 'the service lists no other')
}

/** A key without the scope `notifications` skips this part. */
export async function* examineNotifications({ client }: Context, problems: Problem[]): AsyncGenerator<Finding> {
  try {
    for await (const notification of client.all('/api/v1/notifications'))
      yield* healthOf(client, notification, problems)
  } catch (error) {
    if (!(error instanceof RelayerError) || error.status !== 403) throw error
    yield warning('notifications', 'not checked', 'The API key lacks the scope "notifications".')
  }
}

async function* healthOf(
  client: Context['client'],
  { id, has_signing_key }: Notification,
  problems: Problem[],
): AsyncGenerator<Finding> {
  const path = { notification_id: id }
  const { data } = await client.get('/api/v1/notifications/{notification_id}/health', { path })
  const part = `notification ${id}`
  const again = `relayer deliveries redeliver ${id} --since TIME`
  const kinds = ['notification_disabled', 'notification_failing', 'deliveries_failed'] as const
  yield asListed(stateOfDeliveries(), problems, id, ...kinds)
  if (!has_signing_key)
    yield warning(part, 'deliveries are not signed', `relayer notifications change ${id} --signing-key-file FILE`)

  function stateOfDeliveries(): Finding {
    if (data.status === 'disabled')
      return warning(
        part,
        `disabled: ${data.disabled_reason}`,
        `Correct the endpoint, set its url again, then: ${again}`,
      )
    if (data.failing_since !== null)
      return warning(
        part,
        `every attempt failed since ${data.failing_since}`,
        `relayer deliveries list ${id} shows why.`,
      )
    if (data.failed_count > 0)
      return warning(part, `${data.failed_count} deliveries failed`, `To send them again: ${again}`)
    return fine(part, `${data.pending_count} deliveries are pending, none failed`)
  }
}
