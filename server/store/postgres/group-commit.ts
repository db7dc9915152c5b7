import type { PendingAuditEntry } from '../rows.ts'
import type { Connection } from './connection.ts'
import { lockRelayers, type RelayersToLock } from './locks.ts'
import type { Transaction } from './session.ts'

/** The most changes of one commit. */
const max_batch = 200

interface Waiting<ToLock> {
  auditEntry: PendingAuditEntry | undefined
  toLock: ToLock
  run(transaction: Transaction): Promise<unknown>
  resolve(value: never): void
  reject(error: unknown): void
}

type Lock<ToLock> = (transaction: Transaction, wanted: ToLock[]) => Promise<void>

type Submit<ToLock> = <In, Out>(
  toLock: (input: In) => ToLock,
  one: (transaction: Transaction, input: In) => Promise<Out>,
) => (input: In) => Promise<Out>

const groups = new WeakMap<Connection, Submit<RelayersToLock>>()

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
  const group = groups.get(connection) ?? createGroup(connection, lockRelayers)
  groups.set(connection, group)
  return group(toLock, one)
}

/** A group of changes that share commits. `lock`: takes the locks of all changes of a commit at its beginning. */
export function createGroup<ToLock>(connection: Connection, lock: Lock<ToLock>): Submit<ToLock> {
  const waiting: Waiting<ToLock>[] = []
  let isCommitting = false

  async function commitAll(): Promise<void> {
    while (waiting.length > 0) await commitSome(connection, lock, waiting.splice(0, max_batch))
    isCommitting = false
  }

  return (toLock, one) => (input) =>
    new Promise((resolve, reject) => {
      const run = (transaction: Transaction) => one(transaction, input)
      waiting.push({ auditEntry: connection.currentAuditEntry(), toLock: toLock(input), run, resolve, reject })
      if (isCommitting) return
      isCommitting = true
      setImmediate(() => void commitAll())
    })
}

async function commitSome<ToLock>(connection: Connection, lock: Lock<ToLock>, batch: Waiting<ToLock>[]): Promise<void> {
  try {
    const results = await connection.writeFor(undefined, async (transaction) => {
      await lock(
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
    else for (const waiting of batch) await commitSome(connection, lock, [waiting])
  }
}
