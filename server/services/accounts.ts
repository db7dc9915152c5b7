import type { NonceState, RelayerStatus } from '../../generated/openapi.ts'
import { requireClient } from '../chain/chains.ts'
import { isRpcFailure, RpcError, RpcUnavailable } from '../chain/rpc.ts'
import { errorOf } from '../domain/errors.ts'
import type { NodeAccess } from '../domain/node-access.ts'
import type { PendingAuditEntry, RelayerRow } from '../domain/rows.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import { shownReason } from '../domain/wait-reason.ts'
import { restartChain } from '../sender/nonces/nonces.ts'
import type { ServicesContext } from './context.ts'

/* The state of a relayer's account on the chain and in the store. */

type AccountContext = Pick<
  ServicesContext,
  'store' | 'keyring' | 'chains' | 'background' | 'nonces' | 'pollNow' | 'runSender'
>

/** Throws DomainError (404, 503). */
async function find({ keyring, chains }: AccountContext, nodes: NodeAccess, relayerId: string) {
  const relayer = await keyring.findRelayer(relayerId)
  const networkClient = await requireClient(chains, nodes, relayer)
  return { relayer, chain: networkClient.callers, passOn: networkClient.passOn }
}

export async function getBalance(context: AccountContext, nodes: NodeAccess, relayerId: string): Promise<bigint> {
  const { relayer, chain } = await find(context, nodes, relayerId)
  return ask(chain.balance(relayer.address))
}

export async function getStatus(context: AccountContext, nodes: NodeAccess, relayerId: string): Promise<RelayerStatus> {
  const { store } = context
  const { relayer, chain } = await find(context, nodes, relayerId)
  const [balance, { next_nonce }] = await Promise.all([
    orNull(chain.balance(relayer.address)),
    store.getAccount(relayer.chain_id, relayer.address),
  ])
  return {
    network_type: relayer.network_type,
    nonce: next_nonce,
    pending_transactions_count: await store.countUnfinished(relayer.row_id),
    last_confirmed_transaction_timestamp: await store.lastConfirmedAt(relayer.row_id),
    balance: balance === null ? null : balance.toString(),
    paused: relayer.paused,
    system_disabled: relayer.system_disabled,
    disabled_reason: relayer.disabled_reason,
    is_funded: (await store.fundingOf(relayer)) !== undefined,
  }
}

export type NodeAnswer =
  | { result: unknown; error?: undefined }
  | { error: { code: number; message: string; data: unknown } }

/** Asks a node. Its error is part of the answer. */
export async function callNode(
  context: AccountContext,
  nodes: NodeAccess,
  relayerId: string,
  { method, params }: { method: string; params: unknown[] },
): Promise<NodeAnswer> {
  const { passOn } = await find(context, nodes, relayerId)
  if (await isAboutSecret(context, method, params)) return { result: null }
  try {
    return { result: await passOn(method, params) }
  } catch (error) {
    if (!(error instanceof RpcError)) return await ask(Promise.reject(error))
    const { code = nodeError, message = 'The node answered with an error', data } = error.error
    return { error: { code, message: String(message).slice(0, 10_000), data } }
  }
}

/** Nodes do not see the hash of a transaction that only private relays have, whichever relayer sent it. */
const isAboutSecret = async ({ store }: AccountContext, method: string, [hash]: unknown[]): Promise<boolean> =>
  byHash.has(method) && typeof hash === 'string' && store.isSecretHash(hash.toLowerCase())

const noNodes = { each: [], endpoints: '', network: { required_confirmations: 1 } }

export async function getNonce(context: AccountContext, nodes: NodeAccess, relayerId: string): Promise<NonceState> {
  const { relayer, chain } = await find(context, nodes, relayerId)
  const [latest, chainPending] = await Promise.all([
    orNull(chain.latestNonce(relayer.address)),
    orNull(chain.pendingNonce(relayer.address)),
  ])
  const client = await context.background.networkClient(relayer)
  const state = await context.nonces.state(relayer, client ?? noNodes, latest ?? undefined, chainPending ?? undefined)
  const blockingTransaction = blockingOf(await context.store.firstInLine(relayer.row_id))
  return { ...state, chain_pending_nonce: chainPending, blocking_transaction: blockingTransaction }
}

/** The nonce that the relayer's next transaction gets: the counter, or the chain's count where that is ahead. */
export async function nextNonce(
  { store, background }: Pick<AccountContext, 'store' | 'background'>,
  relayer: RelayerRow,
): Promise<number> {
  const { next_nonce } = await store.getAccount(relayer.chain_id, relayer.address)
  const client = await background.networkClient(relayer)
  const latest = await client?.funds(relayer.address).then(
    (funds) => funds.latest,
    () => 0,
  )
  return Math.max(next_nonce, latest ?? 0)
}

interface Reconciliation {
  chain_restarted?: boolean
  /** The account's transaction count, as the operator knows it. */
  next_nonce?: number
}

/** Reconciles the nonces with the chain now, even when there is nothing to send. Throws DomainError (409). */
export async function reconcileNonce(
  context: AccountContext,
  { nodes, auditEntry }: { nodes: NodeAccess; auditEntry: PendingAuditEntry },
  relayerId: string,
  { chain_restarted, next_nonce }: Reconciliation,
): Promise<NonceState> {
  const { background, nonces } = context
  const { relayer } = await find(context, nodes, relayerId)
  if (chain_restarted) {
    const client = await background.networkClient(relayer)
    if (client) await ask(restartChain(context, relayer, client, auditEntry))
  }
  const { relayer: current } = await find(context, nodes, relayerId)
  const client = await background.networkClient(current)
  if (client) await ask(nonces.reconcile(current, client, next_nonce))
  context.pollNow(current.row_id, true)
  await context.runSender(current.row_id)
  const { relayer: reconciled } = await find(context, nodes, relayerId)
  if (reconciled.system_disabled)
    throw errorOf('invalid_state', 'relayer', reconciled.disabled_reason ?? 'the relayer is disabled')
  return getNonce(context, nodes, relayerId)
}

/** Turns an unreachable node and a node's error into 503, and a response above the limit into 502. */
export async function ask<T>(question: Promise<T>): Promise<T> {
  try {
    return await question
  } catch (error) {
    if (!isRpcFailure(error)) throw error
    if (error instanceof RpcUnavailable && error.too_large !== undefined)
      throw errorOf('bad_gateway', 'node', `The node's answer ${error.too_large}; ${askLess}`)
    throw networkUnavailable(error.message)
  }
}

const askLess = 'request less data, for example fewer blocks'

const orNull = <T>(question: Promise<T>): Promise<T | null> =>
  question.catch((error) => {
    if (isRpcFailure(error)) return null
    throw error
  })

/** The code of a node's error that has none. An internal error would be one of this service. */
const nodeError = -32_000

const byHash: ReadonlySet<string> = new Set(['eth_getTransactionByHash', 'eth_getTransactionReceipt'])

const blockingOf = (row: TransactionRow | undefined): NonceState['blocking_transaction'] =>
  row && row.wait_reason !== null && row.nonce !== null
    ? { transaction_id: row.id, nonce: row.nonce, wait_reason: row.wait_reason, status_reason: shownReason(row) }
    : null

const networkUnavailable = (message: string) => errorOf('unavailable', 'network', message.slice(0, 1_000))
