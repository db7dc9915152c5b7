import { StoreAway } from '../../errors.ts'
import type { PendingAuditEntry } from '../rows.ts'
import { UnknownOutcome } from '../unknown-outcome.ts'
import type { Connection } from './connection.ts'
import type { Fence } from './fence.ts'
import { lockRelayers, type RelayersToLock } from './locks.ts'
import type { Transaction } from './session.ts'

/** The most changes of one commit. */
const max_batch = 200

/** A change that is requested, with the audit entry of its request. */
export interface Requested<In> {
  auditEntry: PendingAuditEntry | undefined
  input: In
}

/** Makes several changes of one method, and records their audit entries. Resolves to their results, in the same order. */
type Together<In, Out> = (transaction: Transaction, requested: Requested<In>[]) => Promise<Out[]>

interface Waiting<ToLock> extends Requested<never> {
  fence: Fence | undefined
  toLock: ToLock
  together: Together<never, unknown>
  resolve(value: never): void
  reject(error: unknown): void
}

type Lock<ToLock> = (transaction: Transaction, wanted: ToLock[]) => Promise<void>

interface Group<ToLock> {
  /** `one`: makes one change. */
  <In, Out>(
    toLock: (input: In) => ToLock,
    one: (transaction: Transaction, input: In) => Promise<Out>,
  ): (input: In) => Promise<Out>
  together<In, Out>(toLock: (input: In) => ToLock, together: Together<In, Out>): (input: In) => Promise<Out>
}

const groups = new WeakMap<Connection, Group<RelayersToLock>>()

/**
 * Group commit: the changes that are requested while the previous commit is under way, by any method, share the next one. Each keeps its
 * own audit entry and its fence. When one of them fails, they are committed one by one, so that only that one fails; while the database
 * is away, all of them fail. The rows of all their relayers are locked at the beginning. `toLock`: the relayers that a change concerns.
 */
export function groupCommit<In, Out>(
  connection: Connection,
  toLock: (input: In) => RelayersToLock,
  one: (transaction: Transaction, input: In) => Promise<Out>,
): (input: In) => Promise<Out> {
  return groupOf(connection)(toLock, one)
}

/** As `groupCommit`, for a method whose changes are made together, by statements for all of them. */
export function groupCommitTogether<In, Out>(
  connection: Connection,
  toLock: (input: In) => RelayersToLock,
  together: Together<In, Out>,
): (input: In) => Promise<Out> {
  return groupOf(connection).together(toLock, together)
}

function groupOf(connection: Connection): Group<RelayersToLock> {
  const group = groups.get(connection) ?? createGroup(connection, lockRelayers)
  groups.set(connection, group)
  return group
}

/** A group of changes that share commits. `lock`: takes the locks of all changes of a commit at its beginning. */
export function createGroup<ToLock>(connection: Connection, lock: Lock<ToLock>): Group<ToLock> {
  const waiting: Waiting<ToLock>[] = []
  let isCommitting = false

  async function commitAll(): Promise<void> {
    while (waiting.length > 0) await commitSome(connection, lock, waiting.splice(0, max_batch))
    isCommitting = false
  }

  const together: Group<ToLock>['together'] = (toLock, together) => (input) =>
    new Promise((resolve, reject) => {
      const auditEntry = connection.currentAuditEntry()
      const fence = connection.currentFence()
      waiting.push({ auditEntry, fence, toLock: toLock(input), input: input as never, together, resolve, reject })
      if (isCommitting) return
      isCommitting = true
      setImmediate(() => void commitAll())
    })
  return Object.assign(
    <In, Out>(toLock: (input: In) => ToLock, one: (transaction: Transaction, input: In) => Promise<Out>) =>
      together(toLock, oneByOne(one)),
    { together },
  )
}

const oneByOne =
  <In, Out>(one: (transaction: Transaction, input: In) => Promise<Out>): Together<In, Out> =>
  async (transaction, requested) => {
    const done: Out[] = []
    for (const { auditEntry, input } of requested) {
      done.push(await transaction.attributed(auditEntry, () => one(transaction, input)))
    }
    return done
  }

async function commitSome<ToLock>(connection: Connection, lock: Lock<ToLock>, batch: Waiting<ToLock>[]): Promise<void> {
  try {
    const fences = batch.flatMap(({ fence }) => fence ?? [])
    const work = async (transaction: Transaction) => {
      await lock(
        transaction,
        batch.map(({ toLock }) => toLock),
      )
      const done = new Map<Waiting<ToLock>, unknown>()
      for (const [together, its] of Map.groupBy(batch, (one) => one.together)) {
        const results = await together(transaction, its)
        for (const [index, one] of its.entries()) done.set(one, results[index])
      }
      return done
    }
    const results = await connection.writeFor(undefined, work, fences)
    for (const one of batch) one.resolve(results.get(one) as never)
  } catch (error) {
    // Changes that may have been committed are not made again, and none is made while the database is down.
    const isOfAll = error instanceof UnknownOutcome || error instanceof StoreAway
    if (batch.length === 1 || isOfAll) for (const { reject } of batch) reject(error)
    else for (const waiting of batch) await commitSome(connection, lock, [waiting])
  }
}
