import type { OneNode } from './dependencies.ts'

/** A survey waits no longer for an endpoint. */
const survey_ms = 3_000

/** Puts a question to every endpoint at once, in bounded time; undefined where one does not answer. */
export function askEach<T>(each: OneNode[], question: (node: OneNode) => Promise<T>): Promise<(T | undefined)[]> {
  return Promise.all(each.map((chain) => within(survey_ms, question(chain))))
}

/** The height, and how many transactions of the account are in the chain. */
export async function lookAt(node: OneNode, address: string): Promise<{ head: number; latest: number }> {
  const [head, latest] = await Promise.all([node.head(), node.latestNonce(address)])
  return { head: head.number, latest }
}

/** More than half. */
export const majorityOf = (count: number): number => Math.floor(count / 2) + 1

/** Those that answered. */
export const given = <T>(answers: (T | undefined)[]): T[] => answers.filter((answer) => answer !== undefined)

/** The greatest number that a majority of all endpoints reaches; undefined when no majority answered. */
export function reachedByMost(numbers: (number | undefined)[]): number | undefined {
  const falling = given(numbers).sort((a, b) => b - a)
  return falling[majorityOf(numbers.length) - 1]
}

/** Resolves to undefined when the work takes longer, or fails. */
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
