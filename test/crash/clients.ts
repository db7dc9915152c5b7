import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type RelayerClient, RelayerError, type Transaction } from '../../client/index.ts'

/** Clients that repeat each submission, under its own Idempotency-Key, until they receive a 201. */
export interface Clients {
  /** Hands the submission to one of the clients. */
  submit(index: number): void
  /** The first received 201, by submission. */
  accepted: Map<number, Transaction>
  tally: Tally
  /** Ends the attempts. Resolves when none is in progress. */
  stop(): Promise<void>
}

export interface Tally {
  /** Attempts that were not the first one of their submission. */
  retries: number
  /** The connection was refused. */
  refused: number
  /** The connection broke, or the response did not arrive in time. */
  broken: number
  /** Responses with 503. */
  unavailable: number
  /** Failures that a service in order does not answer with, whatever was killed: a line each. */
  wrong: string[]
  /** Submissions that were given two different first answers. */
  contradictions: number
}

const atOnce = 16
const retryMs = 150
const impatienceMs = 15
/** Nobody lives there. */
const receiver = `0x${'c0ffee'.padStart(40, '0')}`

export const keyOf = (index: number): string => `submission-${index}`
/** Distinct, so that no two submissions can have the same bytes. */
export const amountOf = (index: number): string => `${index + 1}`

/** `relayerOf`: the relayer of a submission. `pool_id`: all are sent through this pool instead. */
export function createClients(
  client: RelayerClient,
  relayerOf: (index: number) => string,
  impatient: { has(index: number): boolean },
  answerDeadlineMs = 20_000,
  poolId?: string,
): Clients {
  const accepted = new Map<number, Transaction>()
  const tally: Tally = { retries: 0, refused: 0, broken: 0, unavailable: 0, wrong: [], contradictions: 0 }
  const queue: number[] = []
  const working = new Set<Promise<void>>()
  let stopping = false

  const pump = () => {
    while (!stopping && working.size < atOnce && queue.length > 0) {
      const work = carry(queue.shift() as number).finally(() => {
        working.delete(work)
        pump()
      })
      working.add(work)
    }
  }

  async function carry(index: number): Promise<void> {
    for (let attempt = 0; !stopping && !accepted.has(index); attempt += 1) {
      if (attempt > 0) {
        tally.retries += 1
        await pause(retryMs)
      }
      const asked = [ask(index)]
      if (impatient.has(index)) {
        // As a client does that gives up on an answer which is still being worked on.
        await pause(impatienceMs)
        tally.retries += 1
        asked.push(ask(index))
      }
      await Promise.all(asked)
    }
  }

  async function ask(index: number): Promise<void> {
    try {
      const request = {
        header: { 'Idempotency-Key': keyOf(index) },
        body: { to: receiver, value: amountOf(index), speed: 'average' as const },
        signal: AbortSignal.timeout(answerDeadlineMs),
      }
      const { data } = await (poolId === undefined
        ? client.post('/api/v1/relayers/{relayer_id}/transactions', {
            ...request,
            path: { relayer_id: relayerOf(index) },
          })
        : client.post('/api/v1/pools/{pool_id}/transactions', { ...request, path: { pool_id: poolId } }))
      const first = accepted.get(index) ?? data
      accepted.set(index, first)
      if (!isDeepStrictEqual(first, data)) tally.contradictions += 1
    } catch (error) {
      count(error)
    }
  }

  function count(error: unknown): void {
    if (error instanceof RelayerError) {
      if (error.status === 503) tally.unavailable += 1
      // A server that was stalled has not read the request in time.
      else if (error.status === 408) tally.broken += 1
      else tally.wrong.push(`${error.status} ${error.message} ${JSON.stringify(error.details)}`)
      return
    }
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
    if (code === 'ECONNREFUSED') tally.refused += 1
    else tally.broken += 1
  }

  return {
    submit(index) {
      queue.push(index)
      pump()
    },
    accepted,
    tally,
    async stop() {
      stopping = true
      await Promise.all(working)
    },
  }
}
