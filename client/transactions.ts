import type { SendTransactionRequest, Transaction } from '../generated/client.ts'
import type { ClientByPath } from './contract-types.ts'
import { RelayerError } from './error.ts'
import { pause } from './pause.ts'

const sendPath = '/api/v1/relayers/{relayer_id}/transactions'
const onePath = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const maxSends = 4
const firstPauseMs = 500
const firstPollMs = 200
const maxPollMs = 2_000

/** In a block or ended. `mined` can still be reorganized away. */
const inBlock: ReadonlySet<string> = new Set(['mined', 'confirmed', 'failed', 'canceled', 'expired'])
const ended: ReadonlySet<string> = new Set(['confirmed', 'failed', 'canceled', 'expired'])

export interface SendOptions {
  /** Identifies this transaction: the same key sends nothing twice. Default: a random one. */
  idempotencyKey?: string
  /** The state that the response waits for. Default `none`. */
  wait?: 'none' | 'submitted' | 'mined' | 'confirmed'
  wait_seconds?: number
  signal?: AbortSignal
}

/**
 * Sends a transaction under an Idempotency-Key of its own. A request without a response, or with 408, 503 or the response of a proxy, is
 * repeated under the same key, so nothing is sent twice.
 */
export async function sendTransaction(
  client: Pick<ClientByPath, 'post'>,
  relayerId: string,
  body: SendTransactionRequest,
  { idempotencyKey, signal, ...query }: SendOptions = {},
): Promise<Transaction> {
  const input = { path: { relayer_id: relayerId }, query, body, ...(signal && { signal }) }
  const { data } = await once((header) => client.post(sendPath, { ...input, header }), { idempotencyKey, signal })
  return data
}

/**
 * Makes a request under an Idempotency-Key, and repeats it under the same key while it is unknown whether it took effect, or the service
 * could not take it: after a lost connection, 408, 503 and the response of a proxy. The pauses grow; Retry-After is obeyed.
 */
export async function once<T>(
  request: (header: { 'Idempotency-Key': string }) => Promise<T>,
  {
    idempotencyKey = crypto.randomUUID(),
    signal,
  }: { idempotencyKey?: string | undefined; signal?: AbortSignal | undefined },
): Promise<T> {
  for (let sends = 1; ; sends += 1) {
    try {
      return await request({ 'Idempotency-Key': idempotencyKey })
    } catch (error) {
      if (sends >= maxSends || signal?.aborted || !mayRepeat(error)) throw error
      const { retryAfter = 0 } = error as Partial<RelayerError>
      await pause(Math.max(retryAfter * 1_000, firstPauseMs * 2 ** (sends - 1)), signal)
    }
  }
}

const mayRepeat = (error: unknown): boolean =>
  isUnknown(error) || (error instanceof RelayerError && (error.status === 408 || error.status === 503))

/** Whether the service may have accepted the transaction although it did not answer. */
export const isUnknown = (error: unknown): boolean =>
  error instanceof RelayerError
    ? error.code === undefined && error.status >= 502
    : !(error instanceof RangeError) && error instanceof TypeError

export interface WaitOptions {
  /** Default `confirmed`: as deep in the chain as the network requires. */
  until?: 'mined' | 'confirmed'
  /** Called with each change of state. */
  onChange?: (transaction: Transaction) => void
  signal?: AbortSignal
}

/**
 * Follows a transaction, through every new price, until it is mined or confirmed, or ends as failed, canceled or expired. Check its
 * `status`.
 */
export async function waitForTransaction(
  client: Pick<ClientByPath, 'get'>,
  relayerId: string,
  transactionId: string,
  { until = 'confirmed', onChange, signal }: WaitOptions = {},
): Promise<Transaction> {
  const input = { path: { relayer_id: relayerId, transaction_id: transactionId }, ...(signal && { signal }) }
  const isReached = ({ status }: Transaction) => (until === 'mined' ? inBlock : ended).has(status)
  let shown = ''
  for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMs * 1.5, maxPollMs)) {
    const transaction = await client.get(onePath, input).then(
      ({ data }) => data,
      (error) => {
        if (isUnknown(error) && !signal?.aborted) return undefined
        throw error
      },
    )
    const state = transaction && `${transaction.status} ${transaction.hash} ${transaction.status_reason}`
    if (transaction && state !== shown) {
      shown = state as string
      pollMs = firstPollMs
      onChange?.(transaction)
    }
    if (transaction && isReached(transaction)) return transaction
    await pause(pollMs, signal)
  }
}
