import type { NonceState, RpcAnswer } from '../../generated/openapi.ts'
import { ApiError, conflict } from '../core/errors.ts'
import type { Caller } from '../core/operation.ts'
import { type Handlers, single } from '../core/operation.ts'
import type { PendingAuditEntry, RelayerRow } from '../core/rows.ts'
import type { TransactionRow } from '../core/sending-rows.ts'
import { shownReason } from '../core/wait-reason.ts'
import type { Store } from '../store/store.ts'

export interface AccountDependencies {
  store: Store
  /** Throws ApiError (404) when the relayer does not exist. */
  findRelayer(relayer_id: string): Promise<RelayerRow>
  networkClient(relayer: RelayerRow): Promise<
    | {
        /** Serves callers' requests on connections apart from the sender's. */
        callers: {
          rpc(method: string, params: unknown[]): Promise<unknown>
          balance(address: string): Promise<bigint>
          latestNonce(address: string): Promise<number>
          pendingNonce(address: string): Promise<number>
        }
      }
    | undefined
  >
  nonceState(
    relayer: RelayerRow,
    latest: number | undefined,
    pending: number | undefined,
  ): Promise<Omit<NonceState, 'chain_pending' | 'blocking'>>
  /**
   * Reconciles the nonces with the chain now, even when there is nothing to send. `stated_nonce`: the account's transaction count,
   * as the operator knows it. Throws ApiError (409).
   */
  heal(relayer: RelayerRow, stated_nonce: number | undefined): Promise<void>
  /** Resets the relayer for a restarted test chain. Throws ApiError (409) when the chain did not restart or is not a test chain. */
  restart(relayer: RelayerRow, auditEntry: PendingAuditEntry): Promise<void>
  /** The error in a node's response; undefined for any other error. */
  rpcErrorOf(error: unknown): { code?: number; message?: string; data?: unknown } | undefined
  isUnreachable(error: unknown): boolean
  /** Completes "The node's answer ..."; undefined for any other error. */
  tooLarge(error: unknown): string | undefined
  /** Holds a share of the calls in flight. Throws ApiError (429, 503). */
  holdRpcCall(caller: Caller): { release(): void }
}

type Accounts = Pick<Handlers, 'getRelayerBalance' | 'getRelayerStatus' | 'callRpc' | 'getNonce' | 'healNonce'>

/** The state of a relayer's account on the chain and in the store. */
export function accounts(dependencies: AccountDependencies): Accounts {
  const { store, rpcErrorOf, isUnreachable, tooLarge } = dependencies

  async function find(relayer_id: string) {
    const relayer = await dependencies.findRelayer(relayer_id)
    const networkClient = await dependencies.networkClient(relayer)
    if (!networkClient) throw unavailable('the network of the relayer was deleted')
    return { relayer, chain: networkClient.callers }
  }

  /** Turns an unreachable node and a node's error into 503, and a response above the limit into 502. */
  async function ask<T>(question: Promise<T>): Promise<T> {
    try {
      return await question
    } catch (error) {
      const reason = tooLarge(error)
      if (reason !== undefined) throw badGateway(`The node's answer ${reason}; ${ask_less}`)
      if (isUnreachable(error) || rpcErrorOf(error)) throw unavailable((error as Error).message)
      throw error
    }
  }

  const orNull = <T>(question: Promise<T>): Promise<T | null> =>
    question.catch((error) => {
      if (isUnreachable(error) || rpcErrorOf(error)) return null
      throw error
    })

  async function nonceState(relayer_id: string) {
    const { relayer, chain } = await find(relayer_id)
    const [latest, chain_pending] = await Promise.all([
      orNull(chain.latestNonce(relayer.address)),
      orNull(chain.pendingNonce(relayer.address)),
    ])
    const state = await dependencies.nonceState(relayer, latest ?? undefined, chain_pending ?? undefined)
    return single({ ...state, chain_pending, blocking: blockingOf(await store.firstInLine(relayer.row_id)) })
  }

  return {
    async getRelayerBalance({ path }) {
      const { relayer, chain } = await find(path.relayer_id)
      const balance = await ask(chain.balance(relayer.address))
      return single({ balance: balance.toString(), unit: 'wei' })
    },

    async getRelayerStatus({ path }) {
      const { relayer, chain } = await find(path.relayer_id)
      const [balance, { next_nonce }] = await Promise.all([
        orNull(chain.balance(relayer.address)),
        store.getAccount(relayer.chain_id, relayer.address),
      ])
      return single({
        network_type: relayer.network_type,
        nonce: next_nonce.toString(),
        pending_transactions_count: await store.countUnfinished(relayer.row_id),
        last_confirmed_transaction_timestamp: await store.lastConfirmedAt(relayer.row_id),
        balance: balance === null ? null : balance.toString(),
        paused: relayer.paused,
        system_disabled: relayer.system_disabled,
        disabled_reason: relayer.disabled_reason,
      })
    },

    async callRpc({ path, body, caller }) {
      const { chain } = await find(path.relayer_id)
      const held = dependencies.holdRpcCall(caller)
      const { id = null, method, params = [] } = body
      const answer: RpcAnswer = { jsonrpc: '2.0', id }
      try {
        answer.result = await chain.rpc(method, params)
      } catch (error) {
        const told = rpcErrorOf(error)
        if (!told) return await ask(Promise.reject(error))
        const { code = -32603, message = 'The node answered with an error', data } = told
        answer.error = { code, message: String(message).slice(0, 10_000) }
        if (data !== undefined) answer.error.data = data
      } finally {
        held.release()
      }
      return single(answer)
    },

    getNonce: ({ path }) => nonceState(path.relayer_id),

    async healNonce({ path, body, auditEntry }) {
      const { relayer } = await find(path.relayer_id)
      if (body.chain_restarted) await ask(dependencies.restart(relayer, auditEntry))
      const { relayer: current } = await find(path.relayer_id)
      await ask(dependencies.heal(current, body.next_nonce))
      const { relayer: healed } = await find(path.relayer_id)
      if (healed.system_disabled) throw conflict('relayer', healed.disabled_reason ?? 'the relayer is disabled')
      return nonceState(path.relayer_id)
    },
  }
}

const blockingOf = (row: TransactionRow | undefined): NonceState['blocking'] =>
  row && row.waiting_for !== null && row.nonce !== null
    ? { transaction_id: row.id, nonce: row.nonce, waiting_for: row.waiting_for, reason: shownReason(row) }
    : null

const unavailable = (message: string) =>
  new ApiError('unavailable', 'Service Unavailable', [{ path: 'network', message: message.slice(0, 1_000) }])

const badGateway = (message: string) => new ApiError('bad_gateway', 'Bad Gateway', [{ path: 'node', message }])

const ask_less = 'request less data, for example fewer blocks'
