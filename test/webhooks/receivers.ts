import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { WebhookEvent } from '../../generated/openapi.ts'
import { type Answer, type AnswerOptions, drawAnswer, isSuccess } from './answers.ts'

/** One delivery as it came. Moments are counted, so that what came first is known whatever a clock says. */
export interface Arrival {
  target: string
  headers: IncomingHttpHeaders
  body: string
  event: WebhookEvent
  /** Milliseconds of the epoch. */
  at: number
  arrived: number
  answer: Answer
  /** When its 2xx was given; undefined for anything else. */
  accepted: number | undefined
  /** The whole 2xx has left. */
  sent: boolean
  /** It left while the service was alive. */
  heard: boolean
}

/** The targets of all webhooks, each under a path of its own. It outlives every kill and knows nothing of the service. */
export interface Receivers {
  urlOf(target: string): string
  arrivals: Arrival[]
  /** Whether the service is alive. What comes from a dead one may still lie in a socket, and its answer is heard by nobody. */
  setAlive(now: boolean): void
  /** How often somebody went where a redirect points. */
  followed(): number
  /** The most deliveries that one target had open at once. */
  crowd(): number
  /** By webhook-id: those that were accepted. */
  accepted: ReadonlySet<string>
  stop(): Promise<void>
}

export async function startReceivers(options: AnswerOptions): Promise<Receivers> {
  const arrivals: Arrival[] = []
  const accepted = new Set<string>()
  const histories = new Map<string, { arrivals: number; faults: number }>()
  const open = new Map<string, number>()
  let [moment, followed, crowd] = [0, 0, 0]
  let alive = true

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = request.url?.slice(1) ?? ''
    if (target === 'elsewhere') {
      followed += 1
      response.writeHead(204).end()
      return
    }
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString('utf8')
    const event: WebhookEvent = JSON.parse(body)
    const id = `${request.headers['webhook-id']}`
    const history = histories.get(id) ?? { arrivals: 0, faults: 0 }
    histories.set(id, history)
    const answer = drawAnswer(options, keyOf(event), history.arrivals, history.faults, urlOf('elsewhere'))
    history.arrivals += 1
    if (!isSuccess(answer)) history.faults += 1
    moment += 1
    const arrival: Arrival = {
      target,
      headers: request.headers,
      body,
      event,
      at: Date.now(),
      arrived: moment,
      answer,
      accepted: undefined,
      sent: false,
      heard: false,
    }
    arrivals.push(arrival)
    // One that hangs is left when the service turns to another, and whose news comes first is chance.
    if (answer.kind !== 'hang') count(target, response)
    await give(arrival, request, response)
  }

  function count(target: string, response: ServerResponse): void {
    const now = (open.get(target) ?? 0) + 1
    open.set(target, now)
    crowd = Math.max(crowd, now)
    response.once('close', () => open.set(target, (open.get(target) ?? 0) - 1))
  }

  async function give(arrival: Arrival, { socket, headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const { answer } = arrival
    if (answer.kind === 'hang') return
    if (answer.kind === 'reset') return void socket.resetAndDestroy()
    if (answer.kind === 'truncated') {
      response.writeHead(200, { 'Content-Length': '100' }).write('half of ')
      await pause(1)
      return void socket.destroy()
    }
    if (answer.delay_ms > 0) await pause(answer.delay_ms)
    if (isSuccess(answer) && !socket.destroyed) {
      moment += 1
      arrival.accepted = moment
      response.once('finish', () => {
        arrival.sent = true
        arrival.heard = alive
        accepted.add(`${headers['webhook-id']}`)
      })
    }
    response.writeHead(answer.status, answer.headers).end(answer.status === 204 ? undefined : 'as it is')
  }

  const server = createServer((request, response) => {
    // A kill in the middle of a request breaks it off: that one has not come.
    take(request, response).catch(() => response.destroy())
  })
  // A kept connection is not closed just when the service uses it again.
  server.keepAliveTimeout = 600_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const urlOf = (target: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${target}`

  return {
    urlOf,
    arrivals,
    setAlive(now) {
      alive = now
    },
    followed: () => followed,
    crowd: () => crowd,
    accepted,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** What an event is about, the same in every run of a seed; its id is not. */
const keyOf = ({ payload, sequence }: WebhookEvent): string => `${relayerOf(payload)} ${sequence}`

/** The relayer that tells it. */
export function relayerOf(payload: WebhookEvent['payload']): string {
  if (payload.payload_type === 'transaction') return payload.relayer_id
  return 'relayer' in payload ? payload.relayer.id : ''
}
