import type { HearSignal } from '../../server/store/store.ts'
import { randomFrom } from '../support/random.ts'
import { type Done, type Network, type ScaleServer, startServer } from './server.ts'
import { createWorld, type World } from './world.ts'

export interface ScaleOptions {
  servers: number
  relayers: number
  /** How many servers fail in each way, one after the other. A new server takes the place of one that was killed or stopped. */
  kills: number
  stalls: number
  stops: number
  seed: number
}

export interface ScaleResult {
  accepted: number
  /** Accepted and not done in the end. */
  lost: number
  /** Done by two servers, or in a wrong order. */
  twice: number
  /** Instants at which two servers held the same relayer. */
  held_twice: number
  /** From the failure of a server until another one does the next transactions of each of its relayers, by the way it failed. */
  taken_over_ms: Record<'killed' | 'stalled' | 'stopped', number[]>
  /** The most relayers of a server and the fewest, a moment after each failure was dealt with: the worst. */
  most_uneven: { most: number; fewest: number }
  virtual_ms: number
}

const settleMs = 12_000
const betweenMs = 15_000
const stallMs = 12_000
const hearMs = 5
/** Each relayer gets a transaction so often. */
const arrivalMs = 1_000

type Way = keyof ScaleResult['taken_over_ms']

/** Servers share the work on relayers in virtual time, and fail in turns, on the PostgreSQL database at `url`, which must be empty. */
export async function runScale(url: string, options: ScaleOptions): Promise<ScaleResult> {
  const world = await createWorld(url, options.relayers)
  const result: ScaleResult = {
    ...{ accepted: 0, lost: 0, twice: 0, held_twice: 0 },
    taken_over_ms: { killed: [], stalled: [], stopped: [] },
    most_uneven: { most: 0, fewest: 0 },
    virtual_ms: 0,
  }
  const run = new Run(world, options, result)
  try {
    await run.begin()
    for (const way of ways(options)) await run.fail(way)
    await run.finish()
  } finally {
    await run.end()
    await world.end()
  }
  return result
}

const ways = ({ kills, stalls, stops }: ScaleOptions): Way[] => [
  ...Array<Way>(kills).fill('killed'),
  ...Array<Way>(stalls).fill('stalled'),
  ...Array<Way>(stops).fill('stopped'),
]

class Run {
  readonly #world: World
  readonly #options: ScaleOptions
  readonly #result: ScaleResult
  readonly #random: () => number
  readonly #servers = new Set<ScaleServer>()
  /** The highest number that was done, of each relayer. */
  readonly #done = new Map<number, number>()
  /** Relayers whose server failed. */
  readonly #orphans = new Map<number, { server: ScaleServer; at: number; way: Way }>()
  readonly #hearers = new Map<object, HearSignal>()

  constructor(world: World, options: ScaleOptions, result: ScaleResult) {
    this.#world = world
    this.#options = options
    this.#result = result
    this.#random = randomFrom(options.seed)
  }

  readonly #network: Network = {
    join: (server, heard) => void this.#hearers.set(server, heard),
    tell: (from, signal) => {
      for (const [server, heard] of this.#hearers) if (server !== from) setTimeout(() => heard(signal), hearMs)
    },
  }

  readonly #note: Done = (server, rowId, from, to) => {
    if ((this.#done.get(rowId) ?? 0) !== from) this.#result.twice += 1
    this.#done.set(rowId, to)
    const orphan = this.#orphans.get(rowId)
    if (orphan === undefined || orphan.server === server) return
    this.#result.taken_over_ms[orphan.way].push(this.#world.elapsed() - orphan.at)
    this.#orphans.delete(rowId)
  }

  async #start(): Promise<void> {
    this.#servers.add(await startServer(this.#world, this.#network, this.#note))
  }

  async begin(): Promise<void> {
    for (let count = 0; count < this.#options.servers; count += 1) await this.#start()
    await this.#pass(settleMs)
  }

  /** Time passes, and transactions arrive. */
  async #pass(ms: number, arrives = true): Promise<void> {
    for (let at = 0; at < ms; at += arrivalMs) {
      if (arrives) {
        await this.#world.query('UPDATE model.work SET accepted = accepted + 1')
        this.#result.accepted += this.#options.relayers
      }
      await this.#world.advance(arrivalMs)
      this.#countHeldTwice()
    }
  }

  #countHeldTwice(): void {
    for (let rowId = 1; rowId <= this.#options.relayers; rowId += 1) {
      const holders = [...this.#servers].filter((server) => server.holds(rowId))
      if (holders.length > 1) this.#result.held_twice += 1
    }
  }

  async fail(way: Way): Promise<void> {
    const all = [...this.#servers]
    const server = all[Math.floor(this.#random() * all.length)] as ScaleServer
    for (const rowId of server.held()) this.#orphans.set(rowId, { server, at: this.#world.elapsed(), way })
    if (way === 'stalled') {
      server.stall()
      await this.#pass(stallMs)
      server.resume()
    } else {
      this.#servers.delete(server)
      if (way === 'killed') server.kill()
      const stopping = way === 'stopped' ? this.#world.busy(server.stop()) : undefined
      await this.#pass(arrivalMs)
      await stopping
      await this.#start()
    }
    await this.#pass(betweenMs)
    this.#noteShares()
  }

  #noteShares(): void {
    const held = [...this.#servers].map((server) => server.held().length)
    const [most, fewest] = [Math.max(...held), Math.min(...held)]
    const worst = this.#result.most_uneven
    if (most - fewest >= worst.most - worst.fewest) this.#result.most_uneven = { most, fewest }
  }

  /** Until all that was accepted is done, or nothing happens any more. */
  async finish(): Promise<void> {
    await this.#pass(betweenMs, false)
    const [left] = await this.#world.query<{ lost: string }>('SELECT sum(accepted - done) AS lost FROM model.work')
    this.#result.lost = Number(left?.lost)
    this.#result.virtual_ms = this.#world.elapsed()
  }

  async end(): Promise<void> {
    const stopping = this.#world.busy(Promise.all([...this.#servers].map((server) => server.stop())))
    await this.#world.advance(arrivalMs)
    await stopping
  }
}
