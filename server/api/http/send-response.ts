import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { Response } from 'express'
import { Page } from '../../domain/operation.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import type { Operation } from './contract.ts'

/**
 * Sends a body after its validation against the contract; undefined: none, with 204 or 202. `hold`: called with the length before
 * anything is written; an error ends it. Rejects when the body violates the contract.
 */
export async function answer(
  response: Response,
  { emptyStatus, checkResponse }: Pick<Operation, 'emptyStatus' | 'checkResponse'>,
  body: unknown,
  hold: (bytes: number) => void,
): Promise<void> {
  if (body === undefined) return void response.status(emptyStatus).end()
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

/** A single result is page 1 of 1, with 1 item. */
const singlePage = { current_page: 1, per_page: 1, total_items: 1 }

/** The body of a success around what a handler returned. */
export function envelope(result: unknown) {
  const isPage = result instanceof Page
  return {
    success: true,
    data: isPage ? result.data : result,
    error: '',
    pagination: isPage ? result.pagination : singlePage,
  }
}

interface List {
  data: unknown[]
}

const rowsAStep = 100
/** The cost of a nested row besides its texts. */
const innerCharacters = 200
/** The amount validated and encoded in one turn of the event loop; it takes some milliseconds. */
const stepCharacters = 500_000

/** Whether a page needs steps. A thousand transactions with a megabyte of data each would block the event loop for seconds. */
const isLongList = (body: unknown): body is List => {
  const { data } = body as Partial<List>
  return Array.isArray(data) && stepOf(data) < data.length
}

/** The number of rows in the first step. */
function stepOf(data: unknown[]): number {
  let characters = 0
  let rows = 0
  while (rows < data.length && rows < rowsAStep && characters < stepCharacters) {
    characters += widthOf(data[rows])
    rows += 1
  }
  return rows
}

/** A response with a longer text is validated and encoded in a turn of the event loop of its own. */
const longCharacters = 16 * 1024

function isLong(body: unknown): boolean {
  const { data } = body as { data?: unknown }
  return !Array.isArray(data) && widthOf(data) > longCharacters
}

/**
 * The characters of a row and of its nested rows (a delivery's attempts, each with a response). Once `for...in` has seen an array here,
 * V8 takes seven times as long for every row, which was an eighth of a request for a page of ten.
 */
function widthOf(row: unknown): number {
  let characters = 0
  if (typeof row !== 'object' || Array.isArray(row)) return characters
  for (const name in row) {
    const value = (row as Record<string, unknown>)[name]
    if (typeof value === 'string') characters += value.length
    else if (Array.isArray(value)) for (const inner of value) characters += innerCharacters + widthOf(inner)
  }
  return characters
}

/** Validates and encodes a page in steps and yields to the event loop in between. Encoded rows are released. */
async function encodeList(body: List, check: (part: List) => void): Promise<Buffer[]> {
  const { data } = body
  const pieces: Buffer[] = []
  const [head = '', tail = ''] = JSON.stringify({ ...body, data: [] }).split('"data":[]', 2)
  let gathered = `${head}"data":[`
  while (data.length > 0) {
    const rows = data.splice(0, stepOf(data))
    check({ ...body, data: rows })
    pieces.push(Buffer.from(`${gathered}${JSON.stringify(rows).slice(1, -1)}${data.length > 0 ? ',' : ''}`))
    gathered = ''
    await yieldToEventLoop()
  }
  pieces.push(Buffer.from(`${gathered}]${tail}`))
  return pieces
}
