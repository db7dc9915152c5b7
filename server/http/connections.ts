import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The server's open connections and their requests in flight. */
export interface Connections {
  opened(socket: Socket): void
  /** A request has started on the connection; `answer` is its response. Call `begun` and `ended` once per request. */
  begun(socket: Socket, answer: ServerResponse): void
  ended(socket: Socket, answer: ServerResponse): void
  /** The responses to the requests in flight on the connection, in their order. */
  answersOn(socket: Socket): ServerResponse[]
  /** The connections without a request in flight. */
  quiet(): Socket[]
  /** Closes connections whose client has read nothing of a response for the patience; call it about every second. */
  cutStalled(): void
}

/** `patience_ms`: how long a client may leave a response or an event unread. `elapsed`: monotonic milliseconds. */
export function createConnections(patience_ms: number, elapsed: () => number): Connections {
  const open = new Set<Socket>()
  // A client may pipeline several requests on one connection.
  const busy = new Map<Socket, ServerResponse[]>()
  const stalled = new Map<Socket, { taken: number; since: number }>()

  return {
    opened(socket) {
      open.add(socket)
      socket.once('close', () => {
        open.delete(socket)
        stalled.delete(socket)
      })
    },
    begun(socket, answer) {
      const others = busy.get(socket)
      if (others) others.push(answer)
      else busy.set(socket, [answer])
    },
    ended(socket, answer) {
      const others = (busy.get(socket) ?? []).filter((other) => other !== answer)
      if (others.length === 0) busy.delete(socket)
      else busy.set(socket, others)
    },
    answersOn: (socket) => busy.get(socket) ?? [],
    quiet: () => [...open].filter((socket) => !busy.has(socket)),
    cutStalled() {
      const now = elapsed()
      for (const socket of busy.keys()) {
        if (socket.writableLength === 0) {
          stalled.delete(socket)
          continue
        }
        const taken = socket.bytesWritten - socket.writableLength
        const known = stalled.get(socket)
        if (known?.taken !== taken) stalled.set(socket, { taken, since: now })
        else if (now - known.since >= patience_ms) socket.destroy()
      }
    },
  }
}
