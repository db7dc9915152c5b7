import { AsyncLocalStorage } from 'node:async_hooks'
import type { Pool } from 'pg'
import type { PendingAuditEntry } from '../../domain/rows.ts'
import {
  CommitEntries,
  type DatabaseTransaction,
  type RelayersToLock,
  type Session,
  type StoreDependencies,
  sql,
  UnknownOutcome,
} from '../queries/database.ts'
import { countRefusals } from '../queries/refusals.ts'
import { LeaseLost, type WorkKind } from '../worker.ts'
import type { ServerTrail } from './audit.ts'
import { isLockTimeout, isUnanswered, LockHeld, repeated } from './failures.ts'
import { createSession } from './session.ts'

interface WriteContext {
  effects: StoreDependencies
  pool: Pool
  /** Throws DomainError (503) while the database is down. */
  check(): void
  fences: Fences
  trail: Pick<ServerTrail, 'lock' | 'append'>
  /** The duration of each commit. */
  committed?: ((durationMs: number) => void) | undefined
}

/** `under`: the leases of the work, which were captured earlier. `lock_ms`: throws LockHeld when a lock takes longer. */
interface WriteOptions {
  auditEntry?: PendingAuditEntry | undefined
  under?: readonly Fence[]
  lock_ms?: number | undefined
}

/** The work of a database transaction. */
export interface Work<T, Ahead> {
  /** Takes locks and reads. It changes nothing, because it is sent with BEGIN, before the leases are known to be held. */
  readAhead(dbTransaction: DatabaseTransaction): Promise<Ahead>
  make(dbTransaction: DatabaseTransaction, ahead: Ahead): Promise<T>
}

/**
 * Runs `work` in one database transaction, under leases: throws LeaseLost when one of them is another server's, and
 * LockHeld when a statement has waited for a lock for `lock_ms`.
 * It is repeated as a whole after a deadlock or a serialization failure: nothing of it may leave it before the commit. Throws DomainError
 * (503): StoreUnavailable when the database cannot be used, and UnknownOutcome when the answer to COMMIT is lost.
 */
export async function write<T, Ahead>(
  context: WriteContext,
  work: Work<T, Ahead>,
  options: WriteOptions = {},
): Promise<T> {
  const started = performance.now()
  try {
    return await repeated(context.check, () => writeOnce(context, work, options))
  } finally {
    context.committed?.(performance.now() - started)
  }
}

async function writeOnce<T, Ahead>(
  { effects, pool, fences, trail }: WriteContext,
  work: Work<T, Ahead>,
  { auditEntry, under = [], lock_ms }: WriteOptions,
): Promise<T> {
  const client = await pool.connect()
  let changes = 0
  const entries = new CommitEntries()
  const before: (() => Promise<void>)[] = []
  const after: (() => void)[] = []
  const session = createSession(client, {
    changed(rows) {
      changes += rows
    },
  })
  /** The entries are sent with COMMIT: when PostgreSQL refuses them, it answers COMMIT with ROLLBACK. */
  async function commit(): Promise<void> {
    const locked = entries.all.length > 0 ? await trail.lock(session) : undefined
    await countRefusals(session, entries.all)
    const [written, ended] = await Promise.allSettled([
      locked && trail.append(session, entries.all, locked),
      client.query('COMMIT'),
    ])
    if (written.status === 'rejected' && !isUnanswered(written.reason)) throw written.reason
    if (ended.status === 'rejected') throw isUnanswered(ended.reason) ? new UnknownOutcome() : ended.reason
    // PostgreSQL answers ROLLBACK when an error was caught and the database transaction was continued.
    if (ended.value.command !== 'COMMIT') throw new Error('The database transaction was rolled back')
  }
  const dbTransaction: DatabaseTransaction = {
    ...session,
    effects,
    lockRelayers: (wanted) => lockRelayers(session, [wanted]),
    lockNotifications: (rowIds) => lockNotifications(session, rowIds),
    record: (entry, about) => entries.record(entry, about),
    async attributed(entry, its) {
      const beforeChanges = changes
      const done = await its()
      // A refused change has no effect, so it gets no audit entry.
      if (entry && changes !== beforeChanges) entries.record(entry)
      return done
    },
    beforeCommit: (its) => void before.push(its),
    afterCommit: (its) => void after.push(its),
    changes: () => changes,
  }
  let lost: Error | undefined
  let result: T
  try {
    // They are sent together, and run one after the other.
    const [begun, ahead] = await Promise.allSettled([
      client.query(beginText(under, lock_ms)),
      work.readAhead(dbTransaction),
    ])
    if (begun.status === 'rejected') throw begun.reason
    fences.check(under, begun.value)
    if (ahead.status === 'rejected') throw ahead.reason
    result = await dbTransaction.attributed(auditEntry, () => work.make(dbTransaction, ahead.value))
    for (const its of before) await its()
    await commit()
  } catch (error) {
    if (error instanceof UnknownOutcome) lost = error
    else
      await client.query('ROLLBACK').catch((failure: Error) => {
        lost = failure
      })
    throw lock_ms !== undefined && isLockTimeout(error) ? new LockHeld() : error
  } finally {
    client.release(lost)
  }
  entries.committed()
  for (const its of after) its()
  return result
}

/** The lease under which work runs on a row. The token never repeats: each lease has another one. */
export interface Fence {
  kind: WorkKind
  row_id: number
  token: number
}

/**
 * The fence of the present work: every change of the store that it makes carries it, so that no method can forget it. Requests have
 * none.
 */
export class Fences {
  readonly #present = new AsyncLocalStorage<Fence>()
  readonly #listeners: ((fence: Fence) => void)[] = []

  current(): Fence | undefined {
    return this.#present.getStore()
  }

  run<T>(fence: Fence, work: () => Promise<T>): Promise<T> {
    return this.#present.run(fence, work)
  }

  /** `lost`: called when a database transaction finds that a lease is another server's. */
  onLost(lost: (fence: Fence) => void): void {
    this.#listeners.push(lost)
  }

  /** Throws LeaseLost. `results`: what `beginText` resulted in. */
  check(fences: readonly Fence[], results: unknown): void {
    if (fences.length === 0) return
    const { rows } = (results as { rows: { token: number }[] }[]).at(-1) as { rows: { token: number }[] }
    const found = new Set(rows.map(({ token }) => token))
    const lost = fences.filter(({ token }) => !found.has(token))
    if (lost.length === 0) return
    for (const fence of lost) for (const tell of this.#listeners) tell(fence)
    throw new LeaseLost()
  }
}

/**
 * Begins a database transaction, in one message. `lockMs`: a statement that waits longer for a lock fails (55P03). FOR SHARE: a server that
 * takes a lease over waits for the database transactions under it, and later ones do not find it. Only numbers and words of this program
 * are in the text.
 */
function beginText(fences: readonly Fence[], lockMs: number | undefined): string {
  const begin = lockMs === undefined ? 'BEGIN' : `BEGIN; SET LOCAL lock_timeout = ${lockMs}`
  if (fences.length === 0) return begin
  const wanted = fences.map(({ kind, row_id, token }) => `('${kind}', ${row_id}, ${token})`)
  return `${begin}; SELECT token FROM work_leases WHERE (kind, row_id, token) IN (${wanted.join(', ')})
    ORDER BY kind, row_id FOR SHARE`
}

const lock = sql(`
  SELECT row_id FROM relayers
  WHERE row_id IN (
    SELECT unnest($relayers::bigint[])
    UNION ALL SELECT relayer_row_id FROM transactions WHERE row_id = ANY ($transactions::bigint[])
    UNION ALL SELECT its.row_id FROM unnest($chain_ids::bigint[], $addresses::text[]) AS account (chain_id, address)
      JOIN relayers AS its ON its.chain_id = account.chain_id AND its.address = account.address)
  ORDER BY row_id FOR NO KEY UPDATE`)

const lockPools = sql('SELECT row_id FROM pool_ids WHERE row_id = ANY ($row_ids) ORDER BY row_id FOR NO KEY UPDATE')

// A name is no row: while it has no transaction, only the name can be locked.
const lockNames = sql(`
  SELECT pg_advisory_xact_lock(lock) FROM (
    SELECT DISTINCT hashtextextended(name, 0) AS lock FROM unnest($names::text[]) AS name ORDER BY lock
  ) AS wanted`)

/** Locks the rows of pools, then of relayers, by ascending row id, and then names, until the commit. */
export async function lockRelayers(session: Session, wanted: RelayersToLock[]): Promise<void> {
  const pools = wanted.flatMap(({ pools }) => pools ?? [])
  const locking = pools.length > 0 && session.all(lockPools, { row_ids: pools })
  const accounts = wanted.flatMap((its) => its.accounts ?? [])
  const locked = session.all(lock, {
    relayers: wanted.flatMap(({ relayers }) => relayers ?? []),
    transactions: wanted.flatMap(({ transactions }) => transactions ?? []),
    chain_ids: accounts.map(({ chain_id }) => chain_id),
    addresses: accounts.map(({ address }) => address),
  })
  const names = wanted.flatMap((its) => its.names ?? [])
  await Promise.all([locking, locked, names.length > 0 && session.all(lockNames, { names })])
}

/** A name of what a change locks. Transactions are named only where neither their sender nor anything else names their relayer. */
export function relayersKey(
  { pools = [], relayers = [], accounts = [], transactions = [] }: RelayersToLock,
  fence?: Fence,
) {
  const known = fence?.kind === 'sender' ? [fence.row_id] : relayers
  return JSON.stringify([pools, known, accounts, known.length > 0 ? [] : transactions])
}

const lockTargets = sql(
  'SELECT row_id FROM notifications WHERE row_id = ANY ($row_ids) ORDER BY row_id FOR NO KEY UPDATE',
)

/**
 * Locks the rows of notifications, by ascending row id, until the commit: no other database transaction adds or changes their deliveries.
 */
export async function lockNotifications(session: Session, rowIds: number[]): Promise<void> {
  await session.all(lockTargets, { row_ids: rowIds })
}
