import type { Connection } from './connection.ts'

/** Gathers what is asked for in one turn of the event loop and commits it together: one fsync for all of them. */
export function inOneCommit<In, Out>(write: Connection['write'], one: (input: In) => Out): (input: In) => Promise<Out> {
  let waiting: { input: In; resolve(value: Out): void; reject(error: unknown): void }[] = []
  const commit = () => {
    const batch = waiting
    waiting = []
    try {
      const results = write(() => batch.map(({ input }) => one(input)))
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Out)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject })
      if (waiting.length === 1) setImmediate(commit)
    })
}
