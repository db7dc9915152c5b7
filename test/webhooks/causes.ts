import { setTimeout as pause } from 'node:timers/promises'
import { type RelayerClient, RelayerError } from '../../client/index.ts'

/** Those who cause events through the API, and try until they are answered; so what must be told is known to the number. */
export interface Causes {
  /** From now on so many more pauses and ends of pauses are asked for, and so many more transactions. */
  release(toggles: number, transactions: number): void
  /** By relayer: how often it was paused or unpaused, each once an event. */
  toggled: Map<string, number>
  /** Ids of transactions that were answered 201. */
  sent: Set<string>
  /** Failures that a service in order does not answer with, whatever was killed: a line each. */
  wrong: string[]
  /** What was asked for and is not answered. */
  left(): number
  stop(): Promise<void>
}

const atOnce = 8
const againMs = 100
const idleMs = 5
const answerDeadlineMs = 20_000
/** Nobody lives there. */
const receiver = `0x${'c0ffee'.padStart(40, '0')}`

/** `switches`: relayers that are paused and unpaused; `senders`: those that send. */
export function createCauses(client: RelayerClient, switches: string[], senders: string[]): Causes {
  const toggled = new Map(switches.map((id) => [id, 0]))
  const queue: string[] = []
  const busy = new Set<string>()
  const sent = new Set<string>()
  const wrong: string[] = []
  let [asked, begun, released] = [0, 0, 0]
  let stopping = false

  /** A pause that is asked for twice is one: what a kill has left open may be asked again. */
  async function toggle(): Promise<void> {
    while (!stopping) {
      const next = queue.findIndex((id) => !busy.has(id))
      if (next < 0) {
        await pause(idleMs)
        continue
      }
      const [relayerId] = queue.splice(next, 1) as [string]
      busy.add(relayerId)
      const done = toggled.get(relayerId) ?? 0
      const ask = () => {
        const signal = AbortSignal.timeout(answerDeadlineMs)
        const body = { paused: done % 2 === 0 }
        return client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayerId }, body, signal })
      }
      while (!stopping && !(await attempt(ask)));
      toggled.set(relayerId, done + 1)
      busy.delete(relayerId)
    }
  }

  async function send(relayerId: string): Promise<void> {
    while (!stopping) {
      if (begun >= asked) {
        await pause(idleMs)
        continue
      }
      begun += 1
      const value = `${begun}`
      const request = {
        path: { relayer_id: relayerId },
        header: { 'Idempotency-Key': `transaction-${value}` },
        body: { to: receiver, value, gas_limit: 21_000, speed: 'average' as const },
      }
      const ask = async () => {
        const signal = AbortSignal.timeout(answerDeadlineMs)
        const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions', { ...request, signal })
        sent.add(data.id)
      }
      while (!stopping && !(await attempt(ask)));
    }
  }

  async function attempt(ask: () => Promise<unknown>): Promise<boolean> {
    try {
      await ask()
      return true
    } catch (error) {
      if (error instanceof RelayerError && error.status !== 503) wrong.push(`${error.status} ${error.message}`)
      await pause(againMs)
      return false
    }
  }

  const working = [...Array.from({ length: atOnce }, toggle), ...senders.map(send)]
  return {
    release(toggles, transactions) {
      for (let count = 0; count < toggles; count += 1) {
        queue.push(switches[released % switches.length] as string)
        released += 1
      }
      asked += transactions
    },
    toggled,
    sent,
    wrong,
    left: () => released - [...toggled.values()].reduce((sum, count) => sum + count, 0) + asked - sent.size,
    async stop() {
      stopping = true
      await Promise.all(working)
    },
  }
}
