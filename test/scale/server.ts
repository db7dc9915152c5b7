import { pino } from 'pino'
import { readTogether } from '../../server/store/postgres/coalesce.ts'
import { GroupCommit } from '../../server/store/postgres/group-commit.ts'
import { joinServers } from '../../server/store/postgres/membership.ts'
import { beatMs, openPool } from '../../server/store/postgres/pool.ts'
import { createSession } from '../../server/store/postgres/session.ts'
import { workShares } from '../../server/store/postgres/work-share.ts'
import { Fences, write } from '../../server/store/postgres/write.ts'
import type { GroupedChange } from '../../server/store/queries/database.ts'
import { commandDependencies, type Session, sql } from '../../server/store/queries/database.ts'
import type { HearSignal, Signal } from '../../server/store/store.ts'
import { Worker } from '../../server/store/worker.ts'
import type { World } from './world.ts'

/** Every server hears the others, soon. */
export interface Network {
  tell(from: object, signal: Signal): void
  join(server: object, heard: HearSignal): void
}

export interface ScaleServer {
  holds(rowId: number): boolean
  held(): number[]
  /** Its process ends: nothing of it goes on, and its connections end. */
  kill(): void
  /** Its process stands still, or the network to it is cut, until `resume`. */
  stall(): void
  resume(): void
  /** It gives its work back first. */
  stop(): Promise<void>
}

/** Called for each round of a relayer: the transactions that a server has done, by their numbers, from `from` (exclusive). */
export type Done = (server: ScaleServer, rowId: number, from: number, to: number) => void

interface Work {
  row_id: number
  accepted: number
  done: number
}

const roundMs = 1_000
const find = sql<{ row_id: number }>('SELECT row_id FROM model.work')
const workOf = sql<Work>('SELECT row_id, accepted, done FROM model.work WHERE row_id = ANY ($row_ids::bigint[])')
const finish = sql<{ row_id: number }>(`
  UPDATE model.work SET done = its.accepted FROM json_to_recordset($rows::json) AS its (row_id bigint, accepted bigint, done bigint)
  WHERE work.row_id = its.row_id AND work.done = its.done RETURNING work.row_id`)

/**
 * A server as far as it shares work: the registration, leases, fences, group commit and worker of the service. In place of a lane, a round
 * does all transactions of a relayer that are accepted, by a compare-and-set under its lease.
 */
export async function startServer(world: World, network: Network, done: Done): Promise<ScaleServer> {
  const pool = openPool({ url: world.url, max_connections: 3, timeout_ms: 10_000 })
  let [isDead, running] = [false, Promise.withResolvers<void>()]
  running.resolve()

  /** A call of the database. The dead make none, and the stalled make it later, or hear of its result later. */
  async function call<T>(work: () => Promise<T>): Promise<T> {
    await running.promise
    const result = await world.busy(work())
    await running.promise
    return isDead ? new Promise<never>(() => {}) : result
  }

  const session = createSession(pool)
  const read: Session = {
    all: (...its) => call(() => session.all(...its)),
    one: (...its) => call(() => session.one(...its)),
    run: (...its) => call(() => session.run(...its)),
    allOf: (...its) => call(() => session.allOf(...its)),
    runOf: (...its) => call(() => session.runOf(...its)),
  }
  const stopping = new AbortController()
  const membership = await joinServers(read, {
    one: read.one,
    async beatWith({ statement, values, answered }) {
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, beatMs))
        if (stopping.signal.aborted) return
        const askedMs = performance.now()
        const row = await read.one(statement, values())
        if (row) answered(row, askedMs)
      }
    },
  })
  const fences = new Fences()
  const trail = { lock: () => Promise.reject(), append: () => Promise.reject() } as never
  const writing = { effects: commandDependencies, pool, check: () => {}, fences, trail }
  const group = new GroupCommit<number>(
    {
      currentFence: () => fences.current(),
      writeFor: (work, under) => call(() => write(writing, work, { under })),
    },
    { lock: async () => {}, keyOf: String, max_apart: 0 },
  )
  const moves: GroupedChange<Work, boolean, undefined, number> = {
    toLock: (work) => work.row_id,
    readAhead: async () => undefined,
    async make(dbTransaction, requested) {
      const moved = await dbTransaction.allOf(
        finish,
        requested.map(({ input }) => input),
      )
      return requested.map(({ input }) => moved.some(({ row_id }) => row_id === input.row_id))
    },
  }
  const readWork = readTogether(
    (rowId: number) => rowId,
    async (rowIds) => new Map((await read.all(workOf, { row_ids: rowIds })).map((work) => [work.row_id, work])),
  )

  const self = {}
  const signals = {
    tell: (signal: Signal) => network.tell(self, signal),
    subscribe: (heard: HearSignal) => network.join(self, (signal) => void running.promise.then(() => heard(signal))),
  }
  const share = workShares({ read, fences, membership, signals }).share('sender')
  const worker = new Worker({
    share,
    version: () => 0,
    elapsed: () => performance.now(),
    logger: pino({ level: 'silent' }),
    find: async () => (await read.all(find)).map(({ row_id }) => row_id),
    async work(rowId) {
      const work = await readWork(rowId)
      if (work && work.accepted > work.done && (await group.change(moves, work)))
        done(server, rowId, work.done, work.accepted)
      return roundMs
    },
  })
  const server: ScaleServer = {
    holds: (rowId) => share.holds(rowId),
    held: () => share.held(),
    kill() {
      isDead = true
      running = Promise.withResolvers()
      pool.cut()
    },
    stall() {
      running = Promise.withResolvers()
    },
    resume: () => running.resolve(),
    async stop() {
      await worker.stop()
      stopping.abort()
      await membership.close()
      await pool.end()
    },
  }
  return server
}
