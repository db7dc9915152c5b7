import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The server's open connections, and which of them have a request under way. */
export interface Connections {
  opened(socket: Socket): void
  /** A request has begun on it, whose answer this will be; called once for each, and so `ended`. */
  begun(socket: Socket, answer: ServerResponse): void
  ended(socket: Socket, answer: ServerResponse): void
  /** To the requests under way on it, in their order. */
  answersOn(socket: Socket): ServerResponse[]
  /** Those on which no request is under way. */
  quiet(): Socket[]
  /** Cuts those whose client has not taken what it was answered for as long; to be called about every second. */
  cutStalled(): void
}

/** `patience_ms`: how long a client may leave an answer, or an event, untaken. `elapsed`: milliseconds, never going back. */
export function createConnections(patience_ms: number, elapsed: () => number): Connections {
  const open = new Set<Socket>()
  // Several requests may have been sent at once on one connection.
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
