import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Request, type Response, Router } from 'express'
import type { Logger } from 'pino'
import { ApiError } from '../errors.ts'
import type { Caller, Handlers } from '../operation.ts'
import type { Deed } from '../store/rows.ts'
import type { Audit } from './audit.ts'
import type { Authenticate } from './authentication.ts'
import { checkRelayer, checkRoles } from './authorization.ts'
import { isBodyless, mediaTypeOf, readBytes, readJson } from './body.ts'
import type { Operation } from './contract.ts'
import type { Exchange } from './exchange.ts'
import { toFailure } from './failure.ts'
import type { CountConnection } from './key-connections.ts'
import { encodeList, isLongList } from './long-list.ts'
import type { RateLimit } from './rate-limit.ts'
import type { Reference } from './reference.ts'
import { pathOf, queryOf } from './request-target.ts'
import { type Found, Routes } from './routes.ts'
import { securityHeaders } from './security-headers.ts'
import type { Shares } from './shares.ts'

export interface AppParts {
  operations: Operation[]
  handlers: Handlers
  authenticate: Authenticate
  rateLimit: RateLimit
  audit: Audit
  reference: Reference
  /** Of the bytes of request bodies, from their arrival to the end of their answer. */
  bodyBytes: Shares
  countConnection: CountConnection
  logger: Logger
}

/** A request's operation, and how it is served. */
interface Target {
  operation: Operation
  serve(request: IncomingMessage, response: ServerResponse, found: Found<Target>): Promise<void>
}

const mediaTypeFor = (request: IncomingMessage, { mediaTypes }: Operation): string | undefined =>
  mediaTypes.length > 0 ? mediaTypeOf(request, mediaTypes) : undefined

/**
 * The way of a request, in the order of its checks: token, route, rate limit, roles, shape, and then its operation, whose
 * answer is held to the contract before it leaves.
 */
export function createApp(parts: AppParts): RequestListener {
  const { operations, handlers, authenticate, rateLimit, audit, reference, bodyBytes, countConnection, logger } = parts

  const serving = (operation: Operation): Target['serve'] => {
    const handle = handlers[operation.id] as (request: unknown) => Promise<unknown>
    if (!handle) throw new Error(`There is no handler for ${operation.id}`)
    const record = audit.of(operation)
    const check = (answer: unknown) => operation.checkResponse(operation.status, answer)

    return async (request, response, found) => {
      const onClose = (callback: () => void) => {
        if (response.closed) callback()
        else response.once('close', callback)
      }
      let deed: Deed | undefined
      let limits: Record<string, string> = none
      try {
        const exchange = exchangeOf(response)
        exchange.operation = operation.id
        const caller = exchange.caller as Caller
        const path = readPath(found)
        if (operation.limited) limits = rateLimit.take(caller)
        if (operation.guarded) countConnection(request.socket, caller)
        if (operation.guarded) checkRoles(caller, operation)
        // An optional body that is absent is read as an empty object.
        const isAbsent = operation.bodyIsOptional && isBodyless(request)
        const mediaType = isAbsent ? operation.mediaTypes[0] : mediaTypeFor(request, operation)
        const query = operation.readQuery(queryOf(request))
        const given = isAbsent ? {} : mediaType && readJson(await read(request, caller, onClose), operation.amounts)
        operation.checkRequest({ query, headers: request.headers, params: path, body: given }, mediaType)
        if (operation.guarded) checkRelayer(caller, operation, path.relayer_id)
        const header = operation.readHeader(request.headers)
        deed = record.begin(exchange, path)
        const body = await handle({ path, query, header, body: given, caller, deed, onClose })
        record.end(deed, operation.status)
        if (operation.streams) {
          const mayFollow = () => mayStill(request, operation, path)
          return await stream(response, limits, whileTrue(mayFollow, body as AsyncIterable<string>))
        }
        const list = isLongList(body) ? await encodeList(body, check) : undefined
        const broken = list ? list.broken : check(body)
        if (broken !== undefined) throw new Error(`${operation.id} answers against the contract: ${broken}`)
        if (list) await sendPieces(response, operation.status, limits, list.pieces)
        else send(response, operation.status, limits, JSON.stringify(body))
      } catch (error) {
        const status = fail(response, error, operation, limits)
        if (deed) record.end(deed, status)
      }
    }
  }

  const read = (request: IncomingMessage, caller: Caller, onClose: (callback: () => void) => void): Promise<Buffer> => {
    const held = bodyBytes.hold(caller, 0)
    onClose(held.release)
    return readBytes(request, held)
  }

  /** What was revoked meanwhile ends what it began. */
  const mayStill = (request: IncomingMessage, operation: Operation, path: Record<string, string>): boolean => {
    try {
      const caller = authenticate(request)
      checkRoles(caller, operation)
      checkRelayer(caller, operation, path.relayer_id)
      return true
    } catch {
      return false
    }
  }

  /** The status that it was answered with. */
  const fail = (
    response: ServerResponse,
    error: unknown,
    operation: Operation | undefined,
    limits: Record<string, string> = none,
  ): number => {
    const failure = toFailure(error, exchangeOf(response).request_id, logger)
    if (response.headersSent) {
      response.destroy()
      return failure.status
    }
    const broken = operation?.checkResponse(failure.status, failure.body)
    if (broken !== undefined) logger.error({ operation: operation?.id, broken }, 'a failure breaks the contract')
    // What is left of a body that nobody will read goes with its connection.
    const unread = !response.req.complete && hasBody(response.req)
    send(
      response,
      failure.status,
      { ...limits, ...failure.headers, ...(unread && { Connection: 'close' }) },
      JSON.stringify(failure.body),
    )
    return failure.status
  }

  const routes = new Routes<Target>()
  for (const operation of operations) {
    const target = { operation, serve: serving(operation) }
    routes.add(operation.method.toUpperCase(), operation.path, target)
    if (operation.method === 'get') routes.add('HEAD', operation.path, target)
    // A list whose path the contract writes with a slash at its end is served without it too.
    if (operation.method === 'get' && operation.path.endsWith('/')) {
      for (const method of ['GET', 'HEAD']) routes.add(method, operation.path.slice(0, -1), target)
    }
  }

  const enter = (request: IncomingMessage, response: ServerResponse) => {
    exchangeOf(response).caller = authenticate(request)
  }

  // Express serves what is no operation. Of its application, which would give each request and answer another prototype, hash
  // every body for an ETag and parse every query a second time, there is only the router.
  const documents = Router({ caseSensitive: true })
  for (const { path, serve } of reference) documents.get(path, serve)
  documents.use((request, response) => {
    enter(request, response)
    throw new ApiError('not_found', 'Not Found')
  })

  return (request, response) => {
    try {
      audit.flushOverdue()
      const found = routes.find(pathOf(request))
      if (!found) {
        request.url = pathOf(request) || '/'
        return documents(request as Request, response as Response, (error) => fail(response, error, undefined))
      }
      const target = found.targets.get(request.method as string)
      if (target?.operation.guarded !== false) enter(request, response)
      if (!target) throw notAllowed(found)
      void target.serve(request, response, found)
    } catch (error) {
      fail(response, error, undefined)
    }
  }
}

const none = {}

/** Throws URIError. */
function readPath({ names, values }: Found<Target>): Record<string, string> {
  const path: Record<string, string> = {}
  for (const [index, name] of names.entries()) path[name] = decodeURIComponent(values[index] as string)
  return path
}

const notAllowed = ({ targets }: Found<Target>) =>
  new ApiError('method_not_allowed', 'Method Not Allowed', [], { Allow: [...targets.keys()].join(', ') })

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const exchangeOf = (response: ServerResponse): Exchange => (response as Response).locals as Exchange

/** Writes the answer once, with its length. */
function send(response: ServerResponse, status: number, headers: Record<string, string>, text: string) {
  const length = Buffer.byteLength(text)
  begin(response, status, headers, length)
  // What is ASCII need not be encoded.
  response.end(text, length === text.length ? 'latin1' : 'utf8')
}

/** Writes a long answer as the client takes it. */
async function sendPieces(response: ServerResponse, status: number, headers: Record<string, string>, pieces: Buffer[]) {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  begin(response, status, headers, length)
  if (pieces.length === 1 || response.req.method === 'HEAD') return void response.end(pieces[0])
  await pipeline(Readable.from(pieces), response).catch(unlessGone)
}

function begin(response: ServerResponse, status: number, headers: Record<string, string>, length: number) {
  const lines = [
    ...['Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(length)],
    ...['X-Request-Id', exchangeOf(response).request_id],
    ...securityLines,
  ]
  for (const [name, value] of Object.entries(headers)) lines.push(name, value)
  response.writeHead(status, lines)
}

/** Node takes names and values in turn, and spares itself the object. */
const securityLines = Object.entries(securityHeaders).flat()

/** Writes events as they come, until there are no more or the client has gone. */
async function stream(response: ServerResponse, headers: Record<string, string>, events: AsyncIterable<string>) {
  response.writeHead(200, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'X-Request-Id': exchangeOf(response).request_id,
    ...securityHeaders,
    ...headers,
  })
  if (response.req.method === 'HEAD') return void response.end()
  // A client that ends its side of the connection follows no more.
  const { socket } = response.req
  const leave = () => void response.destroy()
  socket.once('end', leave)
  response.once('close', () => socket.off('end', leave))
  await pipeline(Readable.from(events), response).catch(unlessGone)
}

function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
}

async function* whileTrue(isAllowed: () => boolean, events: AsyncIterable<string>) {
  for await (const event of events) {
    if (!isAllowed()) return
    yield event
  }
}
