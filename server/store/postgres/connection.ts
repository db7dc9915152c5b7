import { StoreUnavailable } from '../../domain/errors.ts'
import type { AuditEntry } from '../../domain/rows.ts'
import { SerialQueue } from '../../lib/in-order.ts'
import type { ChainHead } from '../queries/audit.ts'
import {
  commandDependencies,
  type Database,
  type DatabaseTransaction,
  type KeyedReads,
  madeOnce,
  type StoreDependencies,
  sql,
  type TableList,
} from '../queries/database.ts'
import type { TakeTokens } from '../store.ts'
import { ServerTrail, takeChain } from './audit.ts'
import { readTogether } from './coalesce.ts'
import { type DedicatedClient, openDedicatedClient } from './dedicated-client.ts'
import { isUnavailable } from './failures.ts'
import { GroupCommit, type GroupConnection } from './group-commit.ts'
import { joinServers, type Membership } from './membership.ts'
import { openPool, type PoolSettings } from './pool.ts'
import { type DurabilitySetting, prepareDatabase } from './prepare-database.ts'
import { PostgresRights } from './rights.ts'
import { createSession, lister, readSnapshot, type Snapshot } from './session.ts'
import { Signals } from './signals.ts'
import { Fences, lockNotifications, lockRelayers, relayersKey, type Work, write } from './write.ts'

export interface ConnectionSettings extends PoolSettings {
  /** The settings of PostgreSQL that may weaken durability. */
  allow_weak: readonly DurabilitySetting[]
}

/**
 * Locks. A database transaction takes its locks in this order, each kind by ascending row id, so that two of them never wait for each
 * other: its leases (`Fences`), the row of `generation` (changes of configuration, by `writeCached`), rows of
 * `relayers` (for a relayer's transactions, events, nonces, spending and reservations), names (`RelayersToLock`), rows of
 * `notifications` (FOR SHARE to add deliveries, FOR NO KEY UPDATE to change them together), the manifest of the rights, the head of the
 * audit chain (last). It reads the rows that it decides on after it has the lock: with READ COMMITTED, each statement sees everything that
 * was committed before it.
 */
export interface Connection extends Database, GroupConnection {
  /** The wall clock of all servers, in milliseconds since the Unix epoch. */
  now(): number
  /** Statements that see the same state. */
  snapshot: Snapshot
  /** The MACs of rows that grant rights. */
  rights: PostgresRights
  fences: Fences
  /** This server among all that use the database. */
  membership: Membership
  appendAudit(entries: AuditEntry[]): Promise<void>
  auditHead(): Promise<ChainHead>
  generation(): Promise<number>
  signals: Pick<Signals, 'tell' | 'subscribe' | 'losses'>
  takeTokens: TakeTokens | undefined
  /** Weak settings of durability that are allowed. */
  warnings: string[]
  close(): Promise<void>
}

/**
 * Connects to the database, migrates it to the newest schema, and makes this server one of those that use it. Throws StoreError when it
 * cannot be used, whose message has nothing of the URL, and StoreUnavailable when it goes down meanwhile.
 */
export async function connect(
  settings: ConnectionSettings,
  dependencies: Partial<StoreDependencies> = {},
): Promise<Connection> {
  const { observer = {}, databaseDown = () => {} } = dependencies
  const signals = new Signals()
  const clock = new DatabaseClock()
  const { warnings, pool, dedicated, read, membership, chain } = await openLinks(settings, signals, clock, databaseDown)
  signals.sendBy(dedicated)
  const generation = new Generation(dedicated)
  const { check } = dedicated
  const trail = new ServerTrail(chain)
  const fences = new Fences()
  const effects = { ...commandDependencies, now: () => clock.now(), ...dependencies }
  const writing = { effects, pool, check, fences, trail, committed: observer.committed }
  const present = () => {
    const fence = fences.current()
    return fence ? [fence] : []
  }
  const snapshot: Snapshot = (work) => readSnapshot({ pool, check }, work)
  // They would wait for the lock of the generation anyway, and each would hold a connection meanwhile.
  const ordered = new SerialQueue()
  let ownGenerations = 0
  const rights = new PostgresRights({
    snapshot,
    readGeneration: () => generation.read(),
    foreign: () => generation.stored - ownGenerations,
    doubt: () => generation.doubt(),
  })

  const writeAlone: Connection['writeAlone'] = (work, auditEntry) => {
    const fencesNow = present()
    const locked = async (dbTransaction: DatabaseTransaction) => {
      await dbTransaction.one(lockGeneration)
      return work(dbTransaction)
    }
    return ordered.run(() => write(writing, alone(locked), { auditEntry, under: fencesNow }))
  }
  const group: GroupConnection = {
    currentFence: () => fences.current(),
    writeFor: (work, under, lockMs) => write(writing, work, { under, lock_ms: lockMs }),
  }
  const maxApart = Math.floor(settings.max_connections / 4)
  const changes = new GroupCommit(group, {
    lock: lockRelayers,
    keyOf: relayersKey,
    rowsOf: ({ transactions }) => transactions?.length ?? 1,
    max_apart: maxApart,
  })
  const deliveries = new GroupCommit(group, { lock: lockNotifications, keyOf: String, max_apart: maxApart })
  const listerOf = madeOnce((list: TableList<object, unknown>) => lister(snapshot, list))
  const readerOf = madeOnce(({ nameOf, readAll }: KeyedReads<unknown, unknown, unknown>) =>
    readTogether(nameOf, (keys: unknown[]) => readAll(connection, keys)),
  )

  const connection: Connection = {
    ...group,
    effects,
    groupCommit: (change, input, auditEntry) => changes.change(change, input, auditEntry),
    groupCommitOfDeliveries: (change, input) => deliveries.change(change, input),
    readTogether: (reads, key) => readerOf(reads as never)(key) as never,
    list: (list, slice) => listerOf(list as never)(slice) as never,
    now: () => clock.now(),
    read,
    snapshot,
    rights,
    fences,
    membership,
    write: (work, auditEntry) => write(writing, alone(work), { auditEntry, under: present() }),
    writeAlone,
    writeCached: (work, auditEntry) =>
      writeAlone(async (dbTransaction) => {
        const before = dbTransaction.changes()
        const done = await work(dbTransaction)
        // A refused change has no effect, so caches stay valid.
        if (dbTransaction.changes() !== before) {
          await dbTransaction.run(bumpGeneration)
          dbTransaction.afterCommit(() => {
            ownGenerations += 1
          })
        }
        return done
      }, auditEntry),
    // Entries of any work are written together, so no fence applies to them.
    appendAudit: (entries) => trail.appendOnce((work) => write(writing, alone(work)), entries),
    auditHead: () => trail.head(read),
    generation: () => generation.read(),
    signals,
    takeTokens: rateTokens(dedicated),
    warnings,
    async close() {
      await rights.close()
      await membership.close()
      signals.stop()
      await Promise.all([pool.end(), dedicated.close()])
    },
  }
  return connection
}

/** Work that reads nothing ahead. */
const alone = <T>(make: (dbTransaction: DatabaseTransaction) => Promise<T>): Work<T, undefined> => ({
  readAhead: async () => undefined,
  make,
})

/** The connections of this server, and its registration. When it fails, nothing stays open. */
async function openLinks(
  settings: ConnectionSettings,
  signals: Signals,
  clock: DatabaseClock,
  databaseDown: (reason?: string) => void,
) {
  const pool = openPool(settings)
  let dedicated: DedicatedClient | undefined
  let membership: Membership | undefined
  try {
    const warnings = await prepareDatabase(settings)
    dedicated = await openDedicatedClient(settings, {
      heard: (databaseMs, askedMs) => clock.heard(databaseMs, askedMs),
      opened: (client) => signals.opened(client),
      down(reason) {
        pool.cut()
        databaseDown(reason)
      },
      back: databaseDown,
    })
    const read = createSession(pool, { check: dedicated.check })
    membership = await joinServers(read, dedicated)
    const chain = await takeChain(read, membership.row_id)
    return { warnings, pool, dedicated, read, membership, chain }
  } catch (error) {
    pool.cut()
    await membership?.close()
    await Promise.all([pool.end(), dedicated?.close()])
    throw isUnavailable(error) ? new StoreUnavailable() : error
  }
}

const lockGeneration = sql<{ value: number }>('SELECT value FROM generation FOR NO KEY UPDATE')
const bumpGeneration = sql('UPDATE generation SET value = value + 1')

/**
 * The wall clock of all servers: the database's, as the dedicated client hears it several times a second. The clock of a server's own
 * machine may be wrong, and would then end daily limits, API keys or rows for all servers. Between two answers, this process's monotonic
 * clock goes on.
 */
export class DatabaseClock {
  readonly #elapsed: () => number
  /** What the database's clock is ahead of the monotonic one. */
  #aheadMs: number | undefined

  constructor(elapsed: () => number = () => performance.now()) {
    this.#elapsed = elapsed
  }

  /** Milliseconds since the Unix epoch. The database must have been heard. */
  now(): number {
    return Math.floor((this.#aheadMs as number) + this.#elapsed())
  }

  /**
   * The database's clock showed `databaseMs` between `askedMs`, of this process's monotonic clock, and the present. An answer proves a
   * range, which is wide when this process was stalled. A known difference within it stays.
   */
  heard(databaseMs: number, askedMs: number): void {
    const [leastMs, mostMs] = [databaseMs - this.#elapsed(), databaseMs - askedMs]
    this.#aheadMs = Math.min(Math.max(this.#aheadMs ?? leastMs, leastMs), mostMs)
  }
}

/**
 * The rule of caches on several servers. The API keys, relayers, signers and networks in the memory of a server are valid under a
 * generation, a number in the database that each change of such a row replaces in its own database transaction. The number is read
 * from the database
 * - when a request is authenticated (once for all requests that come in one turn of the event loop, or during the previous reading),
 * - again where a relayer and its key are taken for a signature, directly before it; for transactions with a key in this process, before
 *   those that are signed within 10 ms, and again before their bytes are stored,
 * - before each event of a stream.
 * So a pause, a changed policy, a deleted relayer, and a revoked or rotated API key hold on every server when the answer to the change
 * leaves, whichever server gave it. No message between servers is involved. A server that cannot read the number signs nothing: it
 * answers 503. On SQLite, `PRAGMA data_version` has the same part, at the same places.
 */
class Generation {
  readonly #dedicated: Pick<DedicatedClient, 'one'>
  /** The stored number, as it was read last. */
  stored = 0
  #changes = 0

  constructor(dedicated: Pick<DedicatedClient, 'one'>) {
    this.#dedicated = dedicated
  }

  /** Grows when the stored number has changed, also if that went back with a restored database. */
  async read(): Promise<number> {
    for (;;) {
      const askedMs = performance.now()
      const row = await this.#dedicated.one(readGeneration)
      if (typeof row?.value !== 'number') throw new Error('The generation is missing')
      if (this.#changes === 0 || row.value !== this.stored) this.#changes += 1
      this.stored = row.value
      if (performance.now() - askedMs < maxAgeMs) return this.#changes
    }
  }

  /** Rows that were read under the present generation may be wrong: they must be read again. */
  doubt(): void {
    this.#changes += 1
  }
}

/** A process that was stalled between question and answer asks again: a pause may have been answered meanwhile. */
const maxAgeMs = 1_000

const readGeneration = sql<{ value: number }>('SELECT value FROM generation')

const take = sql<{ granted: number; empty_in_ms: number }>(
  'SELECT granted, empty_in_ms FROM take_rate_tokens($caller, $interval_ms, $tolerance_ms, $max_debt_ms, $charge, $wanted)',
)

/** The buckets of rate limits in the database. The table is not logged, so nothing waits for the disk. */
function rateTokens({ one }: Pick<DedicatedClient, 'one'>): TakeTokens {
  return async (caller, { interval_ms, tolerance_ms, max_debt_ms }, charge, wanted) => {
    const taken = await one(take, { caller, interval_ms, tolerance_ms, max_debt_ms, charge, wanted })
    // A number that is none would spread to all servers through the bucket.
    if (!taken || !Number.isFinite(taken.granted) || !Number.isFinite(taken.empty_in_ms))
      throw new Error('A bucket gave no answer')
    return taken
  }
}
