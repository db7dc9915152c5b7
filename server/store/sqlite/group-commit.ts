import type { PendingAuditEntry } from '../../core/rows.ts'
import { UnknownOutcome } from '../unknown-outcome.ts'
import type { Connection } from './connection.ts'

/** The longest time that one commit blocks the event loop. The rest is committed in its next turn. */
const max_commit_ms = 10

interface Waiting {
  auditEntry: PendingAuditEntry | undefined
  run(): unknown
  resolve(value: never): void
  reject(error: unknown): void
}

const queues = new WeakMap<Connection, Waiting[]>()

/**
 * Group commit: the changes that are requested in one turn of the event loop, by any method, are committed with one fsync. Each keeps
 * its own audit entry. When one of them fails, they are committed one by one, so that only that one fails. When the outcome of the commit
 * is unknown, all of them fail, because they may have been committed.
 */
export function groupCommit<In, Out>(connection: Connection, one: (input: In) => Out): (input: In) => Promise<Out> {
  const queue = queues.get(connection) ?? []
  queues.set(connection, queue)

  return (input) =>
    new Promise((resolve, reject) => {
      queue.push({ auditEntry: connection.currentAuditEntry(), run: () => one(input), resolve, reject })
      if (queue.length === 1) setImmediate(() => commitSome(connection, queue))
    })
}

function commitSome(connection: Connection, queue: Waiting[]): void {
  const results: unknown[] = []
  let taken = 0
  let failed: { error: unknown } | undefined
  try {
    connection.write(() => {
      const end = performance.now() + max_commit_ms
      for (const { auditEntry, run } of queue) {
        if (taken > 0 && performance.now() > end) break
        taken += 1
        results.push(connection.attributed(auditEntry, run))
      }
    })
  } catch (error) {
    failed = { error }
  }
  // When none was processed, the database transaction could not begin, so all of them fail.
  const batch = queue.splice(0, taken || queue.length)
  if (queue.length > 0) setImmediate(() => commitSome(connection, queue))
  if (!failed) for (const [index, { resolve }] of batch.entries()) resolve(results[index] as never)
  else if (taken <= 1 || failed.error instanceof UnknownOutcome) for (const { reject } of batch) reject(failed.error)
  else for (const waiting of batch) commitAlone(connection, waiting)
}

function commitAlone({ write, attributed }: Connection, { auditEntry, run, resolve, reject }: Waiting): void {
  try {
    resolve(write(() => attributed(auditEntry, run)) as never)
  } catch (error) {
    reject(error)
  }
}
