import type { NonceState, RpcAnswer } from '../../generated/openapi.ts'
import { ApiError, conflict, relayerNotFound } from '../errors.ts'
import type { Caller } from '../operation.ts'
import { type Handlers, single } from '../operation.ts'
import type { PendingAuditEntry, RelayerRow, TransactionRow } from '../store/rows.ts'
import type { Store } from '../store/store.ts'

export interface AccountDependencies {
  store: Store
  findSigner(relayer_id: string): Promise<{ relayer: RelayerRow } | undefined>
  networkClient(relayer: RelayerRow): Promise<
    | {
        /** For what callers ask, apart from the sender's. */
        callers: {
          rpc(method: string, params: unknown[]): Promise<unknown>
          balance(address: string): Promise<bigint>
          latestNonce(address: string): Promise<number>
          pendingNonce(address: string): Promise<number>
        }
      }
    | undefined
  >
  nonceState(relayer: RelayerRow, latest: number | undefined): Promise<Omit<NonceState, 'chain_pending' | 'blocking'>>
  /** Looks at the chain and mends what can be mended, now, whether or not there is anything to send. */
  heal(relayer: RelayerRow): Promise<void>
  /** Takes over a test chain that began anew. Throws ApiError (409) where it did not, or is no test chain. */
  restart(relayer: RelayerRow, auditEntry: PendingAuditEntry): Promise<void>
  /** The error that a node answered with; undefined when no node answered or it is no node's error. */
  rpcErrorOf(error: unknown): { code?: number; message?: string; data?: unknown } | undefined
  isUnreachable(error: unknown): boolean
  /** Completes "The node's answer ..."; undefined for any other error. */
  tooLarge(error: unknown): string | undefined
  /** Holds a share of the calls in flight. Throws ApiError (429, 503). */
  holdRpcCall(caller: Caller): { release(): void }
}

type Accounts = Pick<Handlers, 'getRelayerBalance' | 'getRelayerStatus' | 'callRpc' | 'getNonce' | 'healNonce'>

/** What a relayer's account is on chain, and what the service thinks of it. */
export function accounts(dependencies: AccountDependencies): Accounts {
  const { store, rpcErrorOf, isUnreachable, tooLarge } = dependencies

  async function find(relayer_id: string) {
    const held = await dependencies.findSigner(relayer_id)
    if (!held) throw relayerNotFound(relayer_id)
    const networkClient = await dependencies.networkClient(held.relayer)
    if (!networkClient) throw unavailable('The network of the relayer is gone')
    return { relayer: held.relayer, chain: networkClient.callers }
  }

  /** 503 for a chain that does not answer, or answers with an error of its own. */
  async function ask<T>(question: Promise<T>): Promise<T> {
    try {
      return await question
    } catch (error) {
      if (isUnreachable(error) || rpcErrorOf(error)) throw unavailable((error as Error).message)
      const reason = tooLarge(error)
      throw reason === undefined ? error : badGateway(`The node's answer ${reason}; ${ask_less}`)
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
    const state = await dependencies.nonceState(relayer, latest ?? undefined)
    return single({ ...state, chain_pending, blocking: blockingOf(await store.firstInLine(relayer.key)) })
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
        pending_transactions_count: await store.countUnfinished(relayer.key),
        last_confirmed_transaction_timestamp: await store.lastConfirmedAt(relayer.key),
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
      await ask(dependencies.heal(current))
      const { relayer: healed } = await find(path.relayer_id)
      if (healed.system_disabled) throw conflict('relayer', healed.disabled_reason ?? 'The relayer is disabled')
      return nonceState(path.relayer_id)
    },
  }
}

const blockingOf = (row: TransactionRow | undefined): NonceState['blocking'] =>
  row && row.waiting_for !== null && row.nonce !== null
    ? { transaction_id: row.id, nonce: row.nonce, waiting_for: row.waiting_for, reason: row.status_reason }
    : null

const unavailable = (message: string) =>
  new ApiError('unavailable', 'Service Unavailable', [{ path: 'network', message: message.slice(0, 1_000) }])

const badGateway = (message: string) => new ApiError('bad_gateway', 'Bad Gateway', [{ path: 'node', message }])

const ask_less = 'ask for less, for example for fewer blocks'
