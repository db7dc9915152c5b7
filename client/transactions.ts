import type { Transaction } from '../generated/client.ts'
import { isUnknown, withDeadline } from './call.ts'
import type { ClientByPath } from './contract-types.ts'
import { pause } from './pause.ts'

const pathOfRelayer = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const pathOfAny = '/api/v1/transactions/{transaction_id}'
const firstPollMs = 200
const maxPollMs = 2_000

/** In a block or ended. `mined` can still be reorganized away. */
const inBlock: ReadonlySet<string> = new Set(['mined', 'confirmed', 'failed', 'canceled', 'expired'])
const ended: ReadonlySet<string> = new Set(['confirmed', 'failed', 'canceled', 'expired'])

export interface WaitOptions {
  /** Default `confirmed`: as deep in the chain as the network requires. */
  until?: 'mined' | 'confirmed'
  /** Called with each change of state. */
  onChange?: (transaction: Transaction) => void
  signal?: AbortSignal
  /** The deadline of the whole wait. Default: none. */
  timeoutMs?: number
}

/**
 * Follows a transaction, through every new price, until it is mined or confirmed, or ends as failed, canceled or expired. Check its
 * `status`. When it is moved, follows the one that another relayer of the pool sends in its place, which has another id: rejects
 * when the API key may not read that one. `relayerId`: null for one that the API key sees through a pool only.
 */
export async function waitForTransaction(
  client: Pick<ClientByPath, 'get'>,
  relayerId: string | null,
  transactionId: string,
  { until = 'confirmed', onChange, signal, timeoutMs = Number.POSITIVE_INFINITY }: WaitOptions = {},
): Promise<Transaction> {
  const isReached = ({ status }: Transaction) => (until === 'mined' ? inBlock : ended).has(status)
  return withDeadline('call', timeoutMs, signal, async (signal) => {
    const readAny = (id: string) => client.get(pathOfAny, { path: { transaction_id: id }, signal })
    let read = () =>
      relayerId === null
        ? readAny(transactionId)
        : client.get(pathOfRelayer, { path: { relayer_id: relayerId, transaction_id: transactionId }, signal })
    let shown = ''
    for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMs * 1.5, maxPollMs)) {
      const transaction = await read().then(
        ({ data }) => data,
        (error) => {
          if (isUnknown(error) && !signal.aborted) return undefined
          throw error
        },
      )
      const state = transaction && `${transaction.status} ${transaction.hash} ${transaction.status_reason}`
      if (transaction && state !== shown) {
        shown = state as string
        pollMs = firstPollMs
        onChange?.(transaction)
      }
      const movedTo = transaction?.moved_to_transaction_id ?? null
      if (movedTo !== null) {
        read = () => readAny(movedTo)
        continue
      }
      if (transaction && isReached(transaction)) return transaction
      await pause(pollMs, signal)
    }
  })
}
