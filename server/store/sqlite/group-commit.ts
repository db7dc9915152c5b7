import type { Grouped, Together, Transaction } from '../queries/session.ts'
import { UnknownOutcome } from '../store-errors.ts'

/** The longest time that one commit blocks the event loop. The rest is committed in its next turn. */
const maxCommitMs = 10

type Write = <T>(work: (transaction: Transaction) => Promise<T>) => Promise<T>

interface Waiting {
  make(transaction: Transaction): Promise<unknown>
  resolve(value: never): void
  reject(error: unknown): void
}

/**
 * Group commit: the changes that are requested in one turn of the event loop, by any method, are committed with one fsync. Each keeps
 * its own audit entry. When one of them fails, they are committed one by one, so that only that one fails. When the outcome of the commit
 * is unknown, all of them fail, because they may have been committed.
 */
export function createGroup(write: Write) {
  const queue: Waiting[] = []

  async function commitSome(): Promise<void> {
    const results: unknown[] = []
    let taken = 0
    let failed: { error: unknown } | undefined
    try {
      await write(async (transaction) => {
        const end = performance.now() + maxCommitMs
        for (const { make } of queue) {
          if (taken > 0 && performance.now() > end) break
          taken += 1
          results.push(await make(transaction))
        }
      })
    } catch (error) {
      failed = { error }
    }
    // When none was processed, the database transaction could not begin, so all of them fail.
    const batch = queue.splice(0, taken || queue.length)
    if (queue.length > 0) setImmediate(commitSome)
    if (!failed) for (const [index, { resolve }] of batch.entries()) resolve(results[index] as never)
    else if (taken <= 1 || failed.error instanceof UnknownOutcome) for (const { reject } of batch) reject(failed.error)
    else for (const waiting of batch) void commitAlone(waiting)
  }

  const commitAlone = ({ make, resolve, reject }: Waiting): Promise<void> => write(make).then(resolve as never, reject)

  return <In, Out, Ahead>({ readAhead, make }: Together<In, Out, Ahead>): Grouped<In, Out> =>
    (input, auditEntry) =>
      new Promise((resolve, reject) => {
        const makeOne = async (transaction: Transaction) =>
          (await make(transaction, [{ auditEntry, input }], await readAhead(transaction, [input])))[0]
        queue.push({ make: makeOne, resolve, reject })
        if (queue.length === 1) setImmediate(commitSome)
      })
}
