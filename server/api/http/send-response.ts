import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { Response } from 'express'
import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import type { Operation } from './contract.ts'
import { encodeList, isLong, isLongList } from './stream-list.ts'

/**
 * Sends a body after its validation against the contract; undefined: 204, without a body. `hold`: called with the length before
 * anything is written; an error ends it. Rejects when the body violates the contract.
 */
export async function answer(
  response: Response,
  { status, checkResponse }: Pick<Operation, 'status' | 'checkResponse'>,
  body: unknown,
  hold: (bytes: number) => void,
): Promise<void> {
  if (body === undefined) return void response.status(204).end()
  response.status(status)
  if (!checkResponse) return void response.json(body)
  if (isLongList(body)) return sendPieces(response, await encodeList(body, checkResponse), hold)
  // The requests of one group commit resolve in the same turn of the event loop.
  if (isLong(body)) await yieldToEventLoop()
  checkResponse(body)
  // `response.json` also negotiates content type, cache freshness and encoding, which costs a tenth of a request.
  const text = JSON.stringify(body)
  const length = Buffer.byteLength(text)
  hold(length)
  response.setHeader('Content-Type', 'application/json; charset=utf-8')
  response.setHeader('Content-Length', length)
  response.end(text)
}

/** Writes a long response at the pace of the client. */
async function sendPieces(response: Response, pieces: Buffer[], hold: (bytes: number) => void): Promise<void> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  hold(length)
  response.set({ 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': String(length) })
  if (response.req.method === 'HEAD') return void response.end()
  await pipeline(Readable.from(pieces), response).catch(unlessGone)
}

/**
 * Writes events until the source ends, the client disconnects, or the caller loses the right to follow (its API key was revoked).
 */
export async function streamEvents(
  response: Response,
  events: AsyncIterable<string>,
  mayFollow: () => Promise<boolean>,
  waitMs: (event: string) => number,
): Promise<void> {
  response.set('Content-Type', 'text/event-stream; charset=utf-8')
  if (response.req.method === 'HEAD') return void response.end()
  response.flushHeaders()
  // A half-closed connection means that the client stopped reading events.
  const { socket } = response.req
  const leave = () => void response.destroy()
  socket.once('end', leave)
  response.once('close', () => socket.off('end', leave))
  await pipeline(Readable.from(whileAllowed(events, mayFollow, waitMs)), response).catch(unlessGone)
}

/** A shorter wait is not worth a timer. */
const leastWaitMs = 5
/** Past events are sent for this long in one turn of the event loop: a hundred events take 40 ms. */
const turnMs = 5

async function* whileAllowed(
  events: AsyncIterable<string>,
  mayFollow: () => Promise<boolean>,
  waitMs: (event: string) => number,
): AsyncGenerator<string> {
  let began = performance.now()
  for await (const event of events) {
    if (performance.now() - began >= turnMs) {
      await yieldToEventLoop()
      began = performance.now()
    }
    if (!(await mayFollow())) return
    yield event
    const restMs = waitMs(event)
    if (restMs >= leastWaitMs) await pause(restMs)
  }
}

function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
}
