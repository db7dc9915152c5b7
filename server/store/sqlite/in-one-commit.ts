import type { Deed } from '../rows.ts'
import type { Connection } from './connection.ts'

/** How long one commit holds up others. What is left is committed in the next turn of the event loop. */
const max_commit_ms = 10

/**
 * Gathers what is asked for in one turn of the event loop and commits it together: one fsync for all of them. Each stays the deed
 * of the one who asked.
 */
export function inOneCommit<In, Out>(
  { write, doer, attributed }: Connection,
  one: (input: In) => Out,
): (input: In) => Promise<Out> {
  let waiting: { input: In; deed: Deed | undefined; resolve(value: Out): void; reject(error: unknown): void }[] = []

  /** How many of those that wait were taken is known when it throws, too. */
  const commitSome = (batch: typeof waiting): { results: Out[]; taken: number } | { error: unknown; taken: number } => {
    const results: Out[] = []
    let taken = 0
    try {
      write(() => {
        const end = performance.now() + max_commit_ms
        for (const { input, deed } of batch) {
          if (taken > 0 && performance.now() > end) break
          taken += 1
          results.push(attributed(deed, () => one(input)))
        }
      })
      return { results, taken }
    } catch (error) {
      return { error, taken: taken === 0 ? batch.length : taken }
    }
  }

  const commit = () => {
    const done = commitSome(waiting)
    const settled = waiting.slice(0, done.taken)
    waiting = waiting.slice(done.taken)
    if (waiting.length > 0) setImmediate(commit)
    for (const [index, { resolve, reject }] of settled.entries()) {
      if ('error' in done) reject(done.error)
      else resolve(done.results[index] as Out)
    }
  }
  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, deed: doer(), resolve, reject })
      if (waiting.length === 1) setImmediate(commit)
    })
}
