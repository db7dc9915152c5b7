import type { Deed } from '../rows.ts'
import type { Connection } from './connection.ts'

/**
 * Gathers what is asked for in one turn of the event loop and commits it together: one fsync for all of them. Each stays the deed
 * of the one who asked.
 */
export function inOneCommit<In, Out>(
  { write, doer, attributed }: Connection,
  one: (input: In) => Out,
): (input: In) => Promise<Out> {
  let waiting: { input: In; deed: Deed | undefined; resolve(value: Out): void; reject(error: unknown): void }[] = []
  const commit = () => {
    const batch = waiting
    waiting = []
    try {
      const results = write(() => batch.map(({ input, deed }) => attributed(deed, () => one(input))))
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Out)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, deed: doer(), resolve, reject })
      if (waiting.length === 1) setImmediate(commit)
    })
}
