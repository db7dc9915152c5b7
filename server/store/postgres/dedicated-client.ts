import { setTimeout as pause } from 'node:timers/promises'
import { StoreUnavailable } from '../../domain/errors.ts'
import { type Statement, sql, type Values } from '../queries/database.ts'
import { isReadOnly, isUnavailable } from './failures.ts'
import { beatMs, type Client, connectClient, type PoolSettings, startMs } from './pool.ts'
import { queryOf } from './session.ts'

/**
 * One connection beside the pool, for short statements only. It is opened again when it is lost, and its heartbeat detects within a
 * second that the database, or the network to it, does not answer.
 */
export interface DedicatedClient {
  /** Runs a statement that may be repeated. Throws DomainError (503) when it is not answered. */
  one<Row extends object>(statement: Statement<Row>, values?: Values): Promise<Row | undefined>
  /** From now on, each heartbeat runs this statement, which tells the database's clock too. */
  beatWith<Row extends Beat>(heartbeat: Heartbeat<Row>): void
  /** Throws DomainError (503) while the database is down. */
  check(): void
  close(): Promise<void>
}

interface DedicatedClientEvents {
  /** The database's clock, in milliseconds since the Unix epoch: read after `askedMs` of the monotonic clock. */
  heard(databaseMs: number, askedMs: number): void
  /** Prepares a new connection. */
  opened(client: Client): Promise<void>
  /** The database is down: it does not answer, or is read-only. Called once until `back`. */
  down(reason: string): void
  back(): void
}

/** The database's clock, in milliseconds since the Unix epoch. */
export interface Beat {
  now_ms: number
}

interface Heartbeat<Row extends Beat = Beat> {
  statement: Statement<Row>
  values(): Values
  /** `askedMs`: the monotonic clock before the question. */
  answered(row: Row, askedMs: number): void
}

export const clockColumns = 'floor(extract(epoch FROM clock_timestamp()) * 1000) AS now_ms'

/** The pause after a failed attempt to connect. */
const againMs = 100
const maxAttempts = 2

const onlyClock: Heartbeat = {
  statement: sql<Beat>(`SELECT ${clockColumns}`),
  values: () => ({}),
  answered: () => undefined,
}

export async function openDedicatedClient(
  settings: Pick<PoolSettings, 'url' | 'timeout_ms'>,
  { heard, opened, down, back }: DedicatedClientEvents,
): Promise<DedicatedClient> {
  const closing = new AbortController()
  let heartbeat = onlyClock
  let client = await open(startMs)
  /** Resolves when there is a connection again. */
  let reopened = Promise.withResolvers<void>()
  let [isLost, isDown] = [false, false]
  const running = keep()

  async function open(connectionTimeoutMillis?: number): Promise<Client> {
    const its = await connectClient(settings, { pipeline: true, connectionTimeoutMillis })
    try {
      await inTime(opened(its), connectionTimeoutMillis)
      await check(its, connectionTimeoutMillis)
      return its
    } catch (error) {
      its.cut()
      throw error
    }
  }

  async function check(its: Client, timeMs?: number): Promise<void> {
    const { statement, values, answered } = heartbeat
    const askedMs = performance.now()
    const { rows } = await inTime(its.query<Beat>(queryOf(statement, values())), timeMs).catch((error) => {
      throw isReadOnly(error) ? new Unusable('The database is read-only') : error
    })
    const beat = rows[0] as Beat
    heard(beat.now_ms, askedMs)
    answered(beat, askedMs)
  }

  /** Resolves when the connection has ended or cannot be used. One that has ended may have ended alone. */
  async function lost(its: Client): Promise<void> {
    const ended = new Promise((resolve) => its.once('end', resolve))
    try {
      while (!closing.signal.aborted && (await Promise.race([ended, rest(beatMs)])) === undefined) await check(its)
    } catch (error) {
      if (error instanceof Unusable) reportDown(error)
    }
  }

  async function keep(): Promise<void> {
    while (!closing.signal.aborted) {
      await lost(client)
      isLost = true
      client.cut()
      while (isLost && !closing.signal.aborted) {
        try {
          client = await open()
          isLost = false
        } catch (error) {
          reportDown(error)
          await rest(againMs)
        }
      }
      if (isDown && !closing.signal.aborted) back()
      isDown = false
      reopened.resolve()
      reopened = Promise.withResolvers()
    }
  }

  function reportDown(reason: unknown): void {
    if (isDown || closing.signal.aborted) return
    isDown = true
    down((reason as Error).message)
  }

  /** Throws Unusable when the answer has not come in time. What came while this process was stalled is read before that. */
  function inTime<T>(work: Promise<T>, timeMs = settings.timeout_ms): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new Unusable('The database does not answer'))
      const timer = setTimeout(() => setImmediate(late), timeMs)
      work.then(resolve, reject).finally(() => clearTimeout(timer))
    })
  }

  const rest = (ms: number) => pause(ms, undefined, { signal: closing.signal }).catch(() => undefined)

  async function attempt<Row extends object>(statement: Statement<Row>, values: Values): Promise<Row | undefined> {
    if (isLost) await inTime(reopened.promise)
    return (await client.query<Row>(queryOf(statement, values))).rows[0]
  }

  const unlessDown = () => {
    if (isDown) throw new StoreUnavailable({ isLogged: true })
  }

  return {
    check: unlessDown,
    beatWith(its) {
      heartbeat = its as Heartbeat
    },
    async one(statement, values = {}) {
      for (let attempts = 1; ; attempts += 1) {
        unlessDown()
        try {
          return await attempt(statement, values)
        } catch (error) {
          if (!isUnavailable(error)) throw error
          if (attempts === maxAttempts) throw new StoreUnavailable()
          // The connection may have ended alone: its end is noticed before the next attempt.
          await rest(0)
        }
      }
    },
    async close() {
      closing.abort()
      if (!isLost && !isDown) await inTime(client.end()).catch(() => undefined)
      client.cut()
      await running
    },
  }
}

/** The database does not answer, or is read-only. */
class Unusable extends Error {
  readonly code = 'ETIMEDOUT'
}
