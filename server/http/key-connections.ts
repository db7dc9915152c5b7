import type { Socket } from 'node:net'
import { ApiError } from '../core/errors.ts'
import type { Caller } from '../core/operation.ts'
import type { Held, Shares } from './shares.ts'

/** Counts a connection for the API key that used it last, even while it is idle. Throws ApiError (429). */
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
