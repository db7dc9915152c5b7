import type { RpcCall } from './answer-limits.ts'

/** `bytes`: by `sizeOf`. */
type Sized = RpcCall & { bytes: number }

/**
 * How many calls from the head of the queue go into the next request. `isWhole`: the queue is complete for this turn of the event
 * loop. Keeps transactions that are sent together in one batch: of two concurrent batches, the one with later nonces may arrive first, and
 * some nodes refuse it.
 */
export function batchSize(queue: Sized[], isWhole: boolean, max_batch: number, max_bytes: number): number {
  const end = fittingBytes(queue, Math.min(queue.length, max_batch), max_bytes)
  const next = queue[end]
  const mayCut = next ? isSending(next) : !isWhole
  let start = end
  while (mayCut && isSending(queue[start - 1])) start -= 1
  return start > 0 ? start : end
}

/** The number of calls from the head of the queue that fit in one request; at least one. */
function fittingBytes(queue: Sized[], most: number, max_bytes: number): number {
  let bytes = 0
  for (let count = 0; count < most; count += 1) {
    bytes += queue[count]?.bytes ?? 0
    if (bytes > max_bytes) return Math.max(count, 1)
  }
  return most
}

const envelope_bytes = 100

/** The approximate size of a call in JSON. */
export const sizeOf = (params: unknown[]): number =>
  params
    .flatMap((param) => (typeof param === 'object' && param !== null ? Object.values(param) : [param]))
    .reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 20), envelope_bytes)

export const sending_method = 'eth_sendRawTransaction'

export const isSending = (call: RpcCall | undefined): boolean => call?.method === sending_method
