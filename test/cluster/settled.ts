import { setTimeout as pause } from 'node:timers/promises'
import type { RelayerClient } from '../../client/index.ts'

const lookMs = 200

/** Resolves to true when the number is `wanted`, and to false when it did not change, or could not be read, for `patience_ms`. */
export async function settled(
  read: () => number | Promise<number>,
  wanted: number,
  patienceMs: number,
  pauseMs = lookMs,
): Promise<boolean> {
  let [last, since] = [Number.NaN, performance.now()]
  for (;;) {
    // A server that has just come back may answer 503 for a moment.
    const count = await Promise.resolve()
      .then(read)
      .catch(() => last)
    if (count === wanted) return true
    if (!Object.is(count, last)) [last, since] = [count, performance.now()]
    if (performance.now() - since > patienceMs) return false
    await pause(pauseMs)
  }
}

export async function countConfirmed(client: RelayerClient, relayers: { id: string }[]): Promise<number> {
  let count = 0
  for (const { id } of relayers) {
    const { pagination } = await client.get('/api/v1/relayers/{relayer_id}/transactions/', {
      path: { relayer_id: id },
      query: { status: ['confirmed'], per_page: 0 },
    })
    count += pagination.total_items
  }
  return count
}
