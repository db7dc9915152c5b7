import { setImmediate as turn } from 'node:timers/promises'
import type { Move, TransactionRow } from '../store/rows.ts'
import { type Broadcast, broadcast } from './broadcast.ts'
import { first_retry_ms, isStalled, lookInterval_ms, type Memory, max_retry_ms, newMemory, takeIn } from './memory.ts'
import type { Nonces } from './nonces.ts'
import { type HeldRelayer, type Market, pricesOf, type Reach, type SendingParts } from './parts.ts'
import { createSettling } from './settle.ts'
import { createSigning, type SignedMove } from './signing.ts'
import { decide, type Sight, type Step, type Tracked } from './state.ts'

/** How many nonces beyond the chain's may be with the nodes: what is accepted beyond waits, unsigned, in order. */
const max_in_flight = 600
const max_rows = 2_000
const sign_at_once = 100
const move_at_once = 100
const disabled_look_ms = 5_000
const max_trace_ms = 60_000

export interface SenderParts extends SendingParts {
  nonces: Nonces
  /** Called after every change, for those who wait for a state. */
  changed(): void
}

export interface Sender {
  /** Does for one relayer whatever can be done now. In how many milliseconds to come back; undefined: nothing is left. */
  work(relayer_key: number): Promise<number | undefined>
  /** The next round looks at the chain at once. `resend`: and hands everything over again. */
  hurry(relayer_key: number, resend: boolean): void
}

/** One relayer, its network, and what is remembered of both: what a round is about. */
interface Lane {
  held: HeldRelayer
  reach: Reach
  memory: Memory
}

interface Decided {
  row: TransactionRow
  step: Step
}

/** The worker's half of sending: takes what was accepted to its end, one step after the other, by what `decide` says. */
export function createSender(parts: SenderParts): Sender {
  const { store, fees, nonces, now, elapsed, changed } = parts
  const memories = new Map<number, Memory>()
  const sign = createSigning(parts)
  const settling = createSettling(parts)

  async function work(relayer_key: number): Promise<number | undefined> {
    const relayer = await store.getRelayerByKey(relayer_key)
    const held = relayer && (await parts.findSigner(relayer.id))
    const reach = held && (await parts.reach(held.relayer))
    if (!held || !reach || (await store.countUnfinished(relayer_key)) === 0) {
      memories.delete(relayer_key)
      return undefined
    }
    const memory = memories.get(relayer_key) ?? newMemory()
    memories.set(relayer_key, memory)
    try {
      await round({ held, reach, memory })
      memory.failure_ms = first_retry_ms
    } catch (error) {
      if (parts.kindOf(error) === undefined) throw error
      const wrong = parts.wrongChain(error)
      if (wrong !== undefined) await nonces.disableWrongChain(held.relayer, wrong)
      memory.failure_ms = Math.min(memory.failure_ms * 2, max_retry_ms)
      memory.look_at = elapsed() + memory.failure_ms * (0.75 + Math.random() / 2)
    }
    return Math.max(0, memory.look_at - elapsed())
  }

  async function round(lane: Lane): Promise<void> {
    const { held, reach, memory } = lane
    const { relayer } = held
    memory.handed.clear()
    // What was accepted just now goes out before anything else is asked.
    if (memory.head !== undefined && !relayer.system_disabled) await sendNew(lane)
    if (elapsed() < memory.look_at) return

    const seen = await reach.chain.look(relayer.address)
    memory.look_at = elapsed() + lookInterval_ms(reach) * (0.9 + Math.random() / 5)
    const isNew = memory.head?.hash !== seen.head.hash || memory.latest !== seen.latest
    if (!(await takeIn(memory, reach.chain, seen))) return
    if ((isNew || relayer.system_disabled) && !(await nonces.follow(relayer, reach.chain, seen.latest))) {
      memory.look_at = elapsed() + disabled_look_ms
      return
    }
    await sendNew(lane)
    await reconcile(lane)
    if (isNew) await noteBalance(lane)
  }

  /** What is in a new block has been paid for. Only here is a low balance seen to recover: POST may read an older one. */
  async function noteBalance({ held, reach }: Lane): Promise<void> {
    const { key, address, policies } = held.relayer
    if (policies.min_balance === undefined) return
    const balance = await reach.chain.balance(address)
    await store.noteBalance(key, balance.toString(), policies.min_balance, balance < BigInt(policies.min_balance))
  }

  /** Signs what was never signed, in the order of nonces, makes it durable, and hands it over. */
  async function sendNew(lane: Lane): Promise<void> {
    const { held, memory } = lane
    while (!held.relayer.paused) {
      // What waits for certainty about its nonce comes first, and takes no room from what is behind it.
      const limit = sign_at_once + Math.min(memory.trace_at.size, max_rows)
      const rows = await store.pending(held.relayer.key, memory.latest + max_in_flight, limit)
      const decided = rows.map((row) => ({ row, step: decide(trackedOf(row), sightOf(lane, {})) }))
      const toSign = decided.filter(({ step }) => step.do === 'sign')
      for (const { row, step } of decided) if (step.do !== 'sign') await carryOut(lane, row, step)
      const signed = await signAll(lane, toSign)
      if (signed < sign_at_once) return
    }
  }

  /** What is signed or in a block: follows the chain, pays more where it is slow, hands over again what may be lost. */
  async function reconcile(lane: Lane): Promise<void> {
    const { held, reach, memory } = lane
    const { relayer } = held
    const reorganized = memory.recheck
    const head = memory.head?.number ?? 0
    const deep = head - reach.network.required_confirmations + 1
    const market = await marketOf(reach)
    const flying = await store.flying(relayer.key, max_rows)
    const mined = await store.mined(relayer.key, reorganized ? Number.MAX_SAFE_INTEGER : deep, max_rows)
    const { paused } = relayer

    const decided = [...mined, ...flying].map((row): Decided => {
      return {
        row,
        step: decide(trackedOf(row), sightOf(lane, { reorganized, paused, payable: isPayable(row, market) })),
      }
    })
    const asked = decided.filter(({ step }) => step.do === 'ask').map(({ row }) => row)
    const receipts = await settling.receipts(reach.chain, asked)
    const answered = asked.map((row, index): Decided => {
      return {
        row,
        step: decide(trackedOf(row), sightOf(lane, { reorganized, paused, receipt: receipts[index] ?? null })),
      }
    })
    await commit((await Promise.all(answered.map(({ row, step }) => settling.settle(reach.chain, row, step)))).flat())
    for (const { row, step } of [...decided, ...answered]) await carryOut(lane, row, step)

    await signAll(
      lane,
      decided.filter(({ step }) => step.do === 'sign'),
    )
    memory.resend = isStalled(memory) || memory.resend || reorganized
    const everything = memory.resend
    if (everything) await nonces.mend(relayer, reach.chain, memory.latest)
    // Only now: what is not done because a node fails is to be done in the next round.
    memory.resend = false
    memory.recheck = false
    if (paused) return
    // Read again, because what has just lost its block is among them.
    const lost = everything
      ? (await store.flying(relayer.key, max_rows)).filter(({ nonce }) => nonce !== null && nonce >= memory.latest)
      : elapsed() >= memory.retry_at
        ? decided.filter(({ step }) => step.do === 'broadcast').map(({ row }) => row)
        : []
    await handOverAgain(
      lane,
      lost.filter(({ key }) => !memory.handed.has(key)),
    )
  }

  /** The steps that are neither signing nor the chain's. */
  async function carryOut({ held, reach, memory }: Lane, row: TransactionRow, step: Step): Promise<void> {
    if (step.do === 'return') {
      const status_reason = 'Its block is no longer in the chain: it is sent again'
      const set = { status: 'submitted', block_number: null, block_hash: null, status_reason } as const
      await commit([{ key: row.key, revision: row.revision, set }])
      memory.resend = true
      memory.look_at = 0
    } else if (step.do === 'withdraw') {
      await store.withdraw(row.relayer_key, row.id, 'expire', 'valid_until has passed')
      memory.look_at = 0
      changed()
    } else if (step.do === 'trace') {
      if ((memory.trace_at.get(row.key) ?? 0) > elapsed()) return
      const traced = await nonces.trace(held.relayer, reach, row, memory.head?.number ?? 0)
      if (traced) memory.trace_at.delete(row.key)
      else
        memory.trace_at.set(row.key, elapsed() + Math.min(2_000 * 2 ** Math.min(memory.trace_at.size, 5), max_trace_ms))
      memory.look_at = traced ? 0 : memory.look_at
      changed()
    }
  }

  /** Answers how many were signed and are durable now. */
  async function signAll(lane: Lane, decided: Decided[]): Promise<number> {
    const signed: (SignedMove | Move)[] = []
    for (const { row, step } of decided) {
      // From the moment that a pause is answered nothing more is signed, not even the rest of a round.
      const held = await parts.findSigner(row.relayer_id)
      if (!held || held.relayer.paused) break
      const made = step.do === 'sign' ? await sign(held, lane.reach, row, step.purpose, step.slow) : undefined
      if (made) signed.push(made)
    }
    const rows = await commit(signed.map((one) => ('move' in one ? one.move : one)))
    const durable = signed.flatMap((one, index): Broadcast[] => {
      const row = rows[index]
      // Nothing goes out that is not on the disk: whoever lost the race has bytes that never were.
      return row && 'move' in one && one.move.attempt ? [{ row, attempt: one.move.attempt }] : []
    })
    await handOver(lane, durable)
    return durable.length
  }

  async function handOverAgain(lane: Lane, rows: TransactionRow[]): Promise<void> {
    const wanted: Broadcast[] = []
    for (const row of rows) {
      const attempt = (await store.attempts(row.key)).at(-1)
      if (attempt) wanted.push({ row, attempt })
    }
    await handOver(lane, wanted)
  }

  async function handOver({ held, reach, memory }: Lane, wanted: Broadcast[]): Promise<void> {
    if (wanted.length === 0) return
    for (const { row } of wanted) memory.handed.add(row.key)
    const { moves, hopeless, again, look } = await broadcast(parts, reach.chain, wanted)
    await commit(moves)
    for (const { row, reason } of hopeless) await store.withdraw(held.relayer.key, row.id, 'fail', reason)
    if (hopeless.length > 0) changed()
    if (look || hopeless.length > 0) memory.look_at = 0
    if (again) {
      memory.retry_at = elapsed() + memory.retry_ms
      memory.retry_ms = Math.min(memory.retry_ms * 2, max_retry_ms)
    } else {
      memory.retry_ms = first_retry_ms
    }
  }

  /** In lots, between which others have their turn: a block settles a thousand, which would take a tenth of a second. */
  async function commit(moves: Move[]): Promise<(TransactionRow | undefined)[]> {
    const rows: (TransactionRow | undefined)[] = []
    for (let at = 0; at < moves.length; at += move_at_once) {
      if (at > 0) await turn()
      rows.push(...(await store.move(moves.slice(at, at + move_at_once))))
      changed()
    }
    return rows
  }

  /** Receipts do not wait for prices: a node that answers no price may still know what was mined. */
  const marketOf = ({ market }: Reach): Promise<Market | undefined> =>
    market().catch((error) => {
      if (parts.kindOf(error) === undefined) throw error
      return undefined
    })

  function isPayable(row: TransactionRow, market: Market | undefined): boolean {
    const prices = pricesOf(row)
    return !prices || !market || fees.isPayable(prices, market)
  }

  const sightOf = ({ reach, memory }: Lane, known: Partial<Sight>): Sight => ({
    now: now(),
    head: memory.head?.number ?? 0,
    latest: memory.latest,
    confirmations: reach.network.required_confirmations,
    receipt: undefined,
    reorganized: false,
    payable: true,
    paused: false,
    ...known,
  })

  return {
    work,
    hurry(relayer_key, resend) {
      const memory = memories.get(relayer_key)
      if (!memory) return
      memory.look_at = 0
      memory.resend ||= resend
    },
  }
}

const trackedOf = (row: TransactionRow): Tracked => ({
  ...row,
  nonce: row.nonce as number,
  valid_until: row.valid_until === null ? undefined : Date.parse(row.valid_until),
})
