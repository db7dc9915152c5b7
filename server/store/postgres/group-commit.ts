import type { PendingAuditEntry } from '../rows.ts'
import type { Connection } from './connection.ts'
import { lockRelayers, type RelayersToLock } from './locks.ts'
import type { Transaction } from './session.ts'

/** The most changes of one commit. */
const max_batch = 200

interface Waiting {
  auditEntry: PendingAuditEntry | undefined
  toLock: RelayersToLock
  run(transaction: Transaction): Promise<unknown>
  resolve(value: never): void
  reject(error: unknown): void
}

interface Queue {
  waiting: Waiting[]
  isCommitting: boolean
}

const queues = new WeakMap<Connection, Queue>()

/**
 * Group commit: the changes that are requested while the previous commit is under way, by any method, share the next one. Each keeps its
 * own audit entry. When one of them fails, they are committed one by one, so that only that one fails. The rows of all their relayers are
 * locked at the beginning. `toLock`: the relayers that a change concerns.
 */
export function groupCommit<In, Out>(
  connection: Connection,
  toLock: (input: In) => RelayersToLock,
  one: (transaction: Transaction, input: In) => Promise<Out>,
): (input: In) => Promise<Out> {
  const queue = queues.get(connection) ?? { waiting: [], isCommitting: false }
  queues.set(connection, queue)

  return (input) =>
    new Promise((resolve, reject) => {
      const run = (transaction: Transaction) => one(transaction, input)
      queue.waiting.push({ auditEntry: connection.currentAuditEntry(), toLock: toLock(input), run, resolve, reject })
      if (queue.isCommitting) return
      queue.isCommitting = true
      setImmediate(() => void commitAll(connection, queue))
    })
}

async function commitAll(connection: Connection, queue: Queue): Promise<void> {
  while (queue.waiting.length > 0) await commitSome(connection, queue.waiting.splice(0, max_batch))
  queue.isCommitting = false
}

async function commitSome(connection: Connection, batch: Waiting[]): Promise<void> {
  try {
    const results = await connection.writeFor(undefined, async (transaction) => {
      await lockRelayers(
        transaction,
        batch.map(({ toLock }) => toLock),
      )
      const done: unknown[] = []
      for (const { auditEntry, run } of batch) {
        done.push(await transaction.attributed(auditEntry, () => run(transaction)))
      }
      return done
    })
    for (const [index, { resolve }] of batch.entries()) resolve(results[index] as never)
  } catch (error) {
    const [first] = batch
    if (batch.length === 1) first?.reject(error)
    else for (const waiting of batch) await commitSome(connection, [waiting])
  }
}
