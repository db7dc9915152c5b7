import type { OneNode } from './dependencies.ts'

/** The timeout for one endpoint. */
const survey_ms = 3_000

/** Asks all endpoints concurrently, with a time limit. An endpoint that does not answer gives undefined. */
export function askEach<T>(each: OneNode[], question: (node: OneNode) => Promise<T>): Promise<(T | undefined)[]> {
  return Promise.all(each.map((chain) => within(survey_ms, question(chain))))
}

/** The height of the chain, and the account's transaction count. */
export async function pollNode(node: OneNode, address: string): Promise<{ head: number; latest: number }> {
  const [head, latest] = await Promise.all([node.head(), node.latestNonce(address)])
  return { head: head.number, latest }
}

/** More than half. */
export const majorityOf = (count: number): number => Math.floor(count / 2) + 1

/** The answers that are not undefined. */
export const given = <T>(answers: (T | undefined)[]): T[] => answers.filter((answer) => answer !== undefined)

/** The largest number that a majority of all endpoints reports or exceeds; undefined when no majority answered. */
export function reachedByMost(numbers: (number | undefined)[]): number | undefined {
  const falling = given(numbers).sort((a, b) => b - a)
  return falling[majorityOf(numbers.length) - 1]
}

/** The hash of the chain's first block, by more than half of the endpoints that answer; undefined when they disagree or are silent. */
export async function genesisOf(each: OneNode[]): Promise<string | undefined> {
  const hashes = given(await askEach(each, (node) => node.blockHash(0)))
  return hashes.find((hash) => hashes.filter((other) => other === hash).length >= majorityOf(hashes.length))
}

/** Resolves to undefined when the work takes longer or fails. */
export function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), ms)
    work
      .then(resolve, () => resolve(undefined))
      .finally(() => {
        clearTimeout(timer)
      })
  })
}
