import type { NonceState, RpcAnswer } from '../../../generated/openapi.ts'
import { isRpcFailure, RpcError, RpcUnavailable } from '../../chain/rpc.ts'
import { errorOf } from '../../domain/errors.ts'
import type { NodeAccess } from '../../domain/node-access.ts'
import type { Handlers } from '../../domain/operation.ts'
import type { TransactionRow } from '../../domain/transaction-rows.ts'
import { shownReason } from '../../domain/wait-reason.ts'
import type { ServicesContext } from '../../services/context.ts'
import { page } from './page.ts'

type Accounts = Pick<
  Handlers,
  'getRelayerBalance' | 'getRelayerStatus' | 'callRpc' | 'getNonce' | 'healNonce' | 'listUnknownTransactions'
>

/** The state of a relayer's account on the chain and in the store. */
export function accounts({
  store,
  keyring,
  chains,
  sending,
}: Pick<ServicesContext, 'store' | 'keyring' | 'chains' | 'sending'>): Accounts {
  async function find(nodes: NodeAccess, relayerId: string) {
    const relayer = await keyring.findRelayer(relayerId)
    const networkClient = await chains.clientFor(nodes, relayer)
    if (!networkClient) throw unavailable('the network of the relayer was deleted')
    return { relayer, chain: networkClient.callers }
  }

  /** Nodes do not see the hash of a transaction that only private relays have, whichever relayer sent it. */
  const isAboutSecret = async (method: string, [hash]: unknown[]): Promise<boolean> =>
    byHash.has(method) && typeof hash === 'string' && store.isSecretHash(hash.toLowerCase())

  /** Turns an unreachable node and a node's error into 503, and a response above the limit into 502. */
  async function ask<T>(question: Promise<T>): Promise<T> {
    try {
      return await question
    } catch (error) {
      if (!isRpcFailure(error)) throw error
      if (error instanceof RpcUnavailable && error.too_large !== undefined)
        throw badGateway(`The node's answer ${error.too_large}; ${askLess}`)
      throw unavailable(error.message)
    }
  }

  const orNull = <T>(question: Promise<T>): Promise<T | null> =>
    question.catch((error) => {
      if (isRpcFailure(error)) return null
      throw error
    })

  async function nonceState(nodes: NodeAccess, relayerId: string) {
    const { relayer, chain } = await find(nodes, relayerId)
    const [latest, chainPending] = await Promise.all([
      orNull(chain.latestNonce(relayer.address)),
      orNull(chain.pendingNonce(relayer.address)),
    ])
    const state = await sending.nonceState(relayer, latest ?? undefined, chainPending ?? undefined)
    return {
      ...state,
      chain_pending: chainPending,
      blocking: blockingOf(await store.firstInLine(relayer.row_id)),
    }
  }

  return {
    async getRelayerBalance({ path, nodes }) {
      const { relayer, chain } = await find(nodes, path.relayer_id)
      const balance = await ask(chain.balance(relayer.address))
      return { balance: balance.toString(), unit: 'wei' }
    },

    async getRelayerStatus({ path, nodes }) {
      const { relayer, chain } = await find(nodes, path.relayer_id)
      const [balance, { next_nonce }] = await Promise.all([
        orNull(chain.balance(relayer.address)),
        store.getAccount(relayer.chain_id, relayer.address),
      ])
      return {
        network_type: relayer.network_type,
        nonce: next_nonce.toString(),
        pending_transactions_count: await store.countUnfinished(relayer.row_id),
        last_confirmed_transaction_timestamp: await store.lastConfirmedAt(relayer.row_id),
        balance: balance === null ? null : balance.toString(),
        paused: relayer.paused,
        system_disabled: relayer.system_disabled,
        disabled_reason: relayer.disabled_reason,
      }
    },

    async callRpc({ path, body, nodes }) {
      const { chain } = await find(nodes, path.relayer_id)
      const { id = null, method, params = [] } = body
      const answer: RpcAnswer = { jsonrpc: '2.0', id }
      if (await isAboutSecret(method, params)) return { ...answer, result: null }
      try {
        answer.result = await chain.rpc(method, params)
      } catch (error) {
        if (!(error instanceof RpcError)) return await ask(Promise.reject(error))
        const { code = nodeError, message = 'The node answered with an error', data } = error.error
        answer.error = { code, message: String(message).slice(0, 10_000) }
        if (data !== undefined) answer.error.data = data
      }
      return answer
    },

    getNonce: ({ path, nodes }) => nonceState(nodes, path.relayer_id),

    async listUnknownTransactions({ path, query }) {
      const relayer = await keyring.findRelayer(path.relayer_id)
      return page(
        query,
        (slice) => store.unknownTransactions(relayer, slice),
        (row) => row,
      )
    },

    async healNonce({ path, body, auditEntry, nodes }) {
      const { relayer } = await find(nodes, path.relayer_id)
      if (body.chain_restarted) await ask(sending.restart(relayer, auditEntry))
      const { relayer: current } = await find(nodes, path.relayer_id)
      await ask(sending.heal(current, body.next_nonce))
      const { relayer: healed } = await find(nodes, path.relayer_id)
      if (body.acknowledge_unknown) await store.acknowledgeUnknown(healed)
      if (healed.system_disabled)
        throw errorOf('conflict', 'relayer', healed.disabled_reason ?? 'the relayer is disabled')
      return nonceState(nodes, path.relayer_id)
    },
  }
}

/** The code of a node's error that has none. An internal error would be one of this service. */
const nodeError = -32_000

const byHash: ReadonlySet<string> = new Set(['eth_getTransactionByHash', 'eth_getTransactionReceipt'])

const blockingOf = (row: TransactionRow | undefined): NonceState['blocking'] =>
  row && row.waiting_for !== null && row.nonce !== null
    ? { transaction_id: row.id, nonce: row.nonce, waiting_for: row.waiting_for, reason: shownReason(row) }
    : null

const unavailable = (message: string) => errorOf('unavailable', 'network', message.slice(0, 1_000))

const badGateway = (message: string) => errorOf('bad_gateway', 'node', message)

const askLess = 'request less data, for example fewer blocks'
