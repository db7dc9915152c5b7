import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Caller } from '../../domain/operation.ts'
import { ApiError } from './errors.ts'
import type { Held, Shares } from './shares.ts'

/** A connection with more pipelined requests that wait is not read until some are carried out. */
const fewWaiting = 8
/** Of all connections together. Above it, a connection that is not read is closed. One chunk of bytes has up to 2,400 requests. */
const maxWaiting = 20_000

/** The server's open connections and their requests in flight. A connection carries out one request at a time. */
export class Connections {
  readonly #patienceMs: number
  readonly #elapsed: () => number
  // A client may pipeline several requests on one connection. A list stays in the map while it is empty. If the entries of a map come and
  // go with each request, V8 often allocates a new table for it. An old table refers to the next one, so that responses in old tables
  // survive minor garbage collections. That costs 60 us per request.
  readonly #open = new Map<Socket, ServerResponse[]>()
  readonly #stalled = new Map<Socket, { taken: number; since: number }>()
  readonly #waiting = new Map<ServerResponse, () => void>()

  /** `patienceMs`: how long a client may leave a response or an event unread. `elapsed`: monotonic milliseconds. */
  constructor(patienceMs: number, elapsed: () => number) {
    this.#patienceMs = patienceMs
    this.#elapsed = elapsed
  }

  opened(socket: Socket): void {
    this.#open.set(socket, [])
    socket.once('close', () => {
      this.#open.delete(socket)
      this.#stalled.delete(socket)
    })
  }

  /**
   * A request has arrived on the connection; `answer` is its response. `carryOut` is called at once, or when the responses before it are
   * written. Call `begun` and `ended` once per request.
   */
  begun(socket: Socket, answer: ServerResponse, carryOut: () => void): void {
    const answers = this.#open.get(socket)
    answers?.push(answer)
    if (answers?.[0] === answer) return void carryOut()
    this.#waiting.set(answer, carryOut)
    if (!answers || answers.length <= fewWaiting) return
    socket.pause()
    if (this.#waiting.size > maxWaiting) socket.destroy()
  }

  ended(socket: Socket, answer: ServerResponse): void {
    const answers = this.#open.get(socket) ?? []
    const index = answers.indexOf(answer)
    if (index >= 0) answers.splice(index, 1)
    this.#waiting.delete(answer)
    this.#carryOutNext(socket, answers)
  }

  /** The responses to the requests in flight on the connection, in their order. The first one is being carried out. */
  answersOn(socket: Socket): ServerResponse[] {
    return this.#open.get(socket) ?? []
  }

  /** The connections without a request in flight. */
  quiet(): Socket[] {
    return [...this.#open].filter(([, answers]) => answers.length === 0).map(([socket]) => socket)
  }

  /** Closes connections whose client has read nothing of a response for the time of patience. To be called about every second. */
  cutStalled(): void {
    const now = this.#elapsed()
    for (const [socket, answers] of this.#open) {
      if (answers.length === 0 || socket.writableLength === 0) {
        this.#stalled.delete(socket)
        continue
      }
      const taken = socket.bytesWritten - socket.writableLength
      const known = this.#stalled.get(socket)
      if (known?.taken !== taken) this.#stalled.set(socket, { taken, since: now })
      else if (now - known.since >= this.#patienceMs) socket.destroy()
    }
  }

  /** Carries out the first request of the connection, if it was not carried out before. */
  #carryOutNext(socket: Socket, answers: ServerResponse[]) {
    const [next] = answers
    const carryOut = next && this.#waiting.get(next)
    if (!next || !carryOut || socket.destroyed) return
    this.#waiting.delete(next)
    if (answers.length === fewWaiting) socket.resume()
    carryOut()
  }
}

/** The connections by the API key that used them last, even while they are idle. */
export class KeyConnections {
  readonly #shares: Shares
  readonly #users = new WeakMap<Socket, { id: string; held: Held }>()

  /** `shares`: of the connections. */
  constructor(shares: Shares) {
    this.#shares = shares
  }

  /** Counts a connection for the caller. Throws DomainError (429): a refused connection is closed after the response. */
  count(socket: Socket, caller: Caller): void {
    const known = this.#users.get(socket)
    if (known?.id === caller.id || socket.destroyed) return
    known?.held.release()
    this.#users.delete(socket)
    const held = holdOrClose(this.#shares, caller)
    if (!known) socket.once('close', () => this.#users.get(socket)?.held.release())
    this.#users.set(socket, { id: caller.id, held })
  }
}

function holdOrClose(shares: Shares, caller: Caller): Held {
  try {
    return shares.hold(caller, 1)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { code, message, details, headers } = error
    throw new ApiError(code, message, details, { ...headers, Connection: 'close' })
  }
}
