import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Caller } from '../../domain/operation.ts'
import type { Held, Shares } from './concurrency-limits.ts'
import { ApiError } from './errors.ts'

/** The server's open connections and their requests in flight. A connection carries out one request at a time. */
export interface Connections {
  opened(socket: Socket): void
  /**
   * A request has arrived on the connection; `answer` is its response. `carryOut` is called at once, or when the responses before it are
   * written. Call `begun` and `ended` once per request.
   */
  begun(socket: Socket, answer: ServerResponse, carryOut: () => void): void
  ended(socket: Socket, answer: ServerResponse): void
  /** The responses to the requests in flight on the connection, in their order. The first one is being carried out. */
  answersOn(socket: Socket): ServerResponse[]
  /** The connections without a request in flight. */
  quiet(): Socket[]
  /** Closes connections whose client has read nothing of a response for `patience_ms`. To be called about every second. */
  cutStalled(): void
}

/** A connection with more pipelined requests that wait is not read until some are carried out. */
const fewWaiting = 8
/** Of all connections together. Above it, a connection that is not read is closed. One chunk of bytes has up to 2,400 requests. */
const maxWaiting = 20_000

/** `patience_ms`: how long a client may leave a response or an event unread. `elapsed`: monotonic milliseconds. */
export function createConnections(patienceMs: number, elapsed: () => number): Connections {
  // A client may pipeline several requests on one connection. A list stays in the map while it is empty. If the entries of a map come and
  // go with each request, V8 often allocates a new table for it. An old table refers to the next one, so that responses in old tables
  // survive minor garbage collections. That costs 60 us per request.
  const open = new Map<Socket, ServerResponse[]>()
  const stalled = new Map<Socket, { taken: number; since: number }>()
  const waiting = new Map<ServerResponse, () => void>()

  /** Carries out the first request of the connection, if it was not carried out before. */
  const carryOutNext = (socket: Socket, answers: ServerResponse[]) => {
    const [next] = answers
    const carryOut = next && waiting.get(next)
    if (!next || !carryOut || socket.destroyed) return
    waiting.delete(next)
    if (answers.length === fewWaiting) socket.resume()
    carryOut()
  }

  return {
    opened(socket) {
      open.set(socket, [])
      socket.once('close', () => {
        open.delete(socket)
        stalled.delete(socket)
      })
    },
    begun(socket, answer, carryOut) {
      const answers = open.get(socket)
      answers?.push(answer)
      if (answers?.[0] === answer) return carryOut()
      waiting.set(answer, carryOut)
      if (!answers || answers.length <= fewWaiting) return
      socket.pause()
      if (waiting.size > maxWaiting) socket.destroy()
    },
    ended(socket, answer) {
      const answers = open.get(socket) ?? []
      const index = answers.indexOf(answer)
      if (index >= 0) answers.splice(index, 1)
      waiting.delete(answer)
      carryOutNext(socket, answers)
    },
    answersOn: (socket) => open.get(socket) ?? [],
    quiet: () => [...open].filter(([, answers]) => answers.length === 0).map(([socket]) => socket),
    cutStalled() {
      const now = elapsed()
      for (const [socket, answers] of open) {
        if (answers.length === 0 || socket.writableLength === 0) {
          stalled.delete(socket)
          continue
        }
        const taken = socket.bytesWritten - socket.writableLength
        const known = stalled.get(socket)
        if (known?.taken !== taken) stalled.set(socket, { taken, since: now })
        else if (now - known.since >= patienceMs) socket.destroy()
      }
    },
  }
}

/** Counts a connection for the API key that used it last, even while it is idle. Throws DomainError (429). */
export type CountConnection = (socket: Socket, caller: Caller) => void

/** `shares`: of the connections. A refused connection is closed after the response. */
export function createKeyConnections(shares: Shares): CountConnection {
  const users = new WeakMap<Socket, { id: string; held: Held }>()

  return (socket, caller) => {
    const known = users.get(socket)
    if (known?.id === caller.id || socket.destroyed) return
    known?.held.release()
    users.delete(socket)
    const held = holdOrClose(shares, caller)
    if (!known) socket.once('close', () => users.get(socket)?.held.release())
    users.set(socket, { id: caller.id, held })
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
