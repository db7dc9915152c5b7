import { withTimeout } from '../lib/timeout.ts'
import type { Chain } from './chain.ts'

/** The timeout for one endpoint. */
const surveyMs = 3_000

/** Asks all endpoints concurrently, with a time limit. An endpoint that does not answer gives undefined. */
export function askEach<T>(each: Chain[], question: (node: Chain) => Promise<T>): Promise<(T | undefined)[]> {
  return Promise.all(each.map((chain) => within(surveyMs, question(chain))))
}

/** The height of the chain, and the account's transaction count at it. */
export async function pollNode(node: Chain, address: string): Promise<{ head: number; latest: number }> {
  const snapshot = await node.snapshot()
  return { head: snapshot.head.number, latest: await snapshot.latestNonce(address) }
}

/** Resolves to undefined when the work takes longer or fails. */
export function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  return withTimeout(
    ms,
    () => new Error('not in time'),
    () => work,
  ).catch(() => undefined)
}
