import type { RequestListener } from 'node:http'
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
import { mediaTypeOf, readJson } from './body.ts'
import type { Operation } from './contract.ts'
import type { Exchange } from './exchange.ts'
import { toFailure } from './failure.ts'
import { encodeList, isLongList } from './long-list.ts'
import type { RateLimit } from './rate-limit.ts'
import type { Reference } from './reference.ts'
import { securityHeaders } from './security-headers.ts'

export interface AppParts {
  operations: Operation[]
  handlers: Handlers
  authenticate: Authenticate
  rateLimit: RateLimit
  audit: Audit
  reference: Reference
  logger: Logger
}

/**
 * The way of a request, in the order of its checks: token, route, rate limit, roles, shape, and then its operation, whose
 * answer is held to the contract before it leaves.
 */
export function createApp(parts: AppParts): RequestListener {
  const { operations, handlers, authenticate, rateLimit, audit, reference, logger } = parts
  // Express's router alone. Its application would give each request and answer another prototype, which makes all that Node
  // does with them afterwards slower (10 us), hash every body for an ETag, and parse every query a second time.
  const router = Router({ caseSensitive: true })

  const serve = (operation: Operation) => {
    const handle = handlers[operation.id] as (request: unknown) => Promise<unknown>
    if (!handle) throw new Error(`There is no handler for ${operation.id}`)

    return async (request: Request, response: Response) => {
      let deed: Deed | undefined
      try {
        exchangeOf(response).operation = operation.id
        const caller = exchangeOf(response).caller as Caller
        const limits = operation.limited ? rateLimit.take(caller) : {}
        if (operation.guarded) checkRoles(caller, operation)
        const { params: path, query, body: given } = await readParts(operation, request)
        if (operation.guarded) checkRelayer(caller, operation, request.params.relayer_id as string | undefined)
        const header = operation.readHeader(request.headers)
        deed = audit.begin(exchangeOf(response), operation, path)
        const body = await handle({ path, query, header, body: given, caller, deed })
        audit.end(deed, operation, operation.status)
        if (operation.streams) {
          const mayFollow = () => mayStill(request, operation)
          return await stream(response, limits, whileTrue(mayFollow, body as AsyncIterable<string>))
        }
        const check = (answer: unknown) => operation.checkResponse(operation.status, answer)
        const list = isLongList(body) ? await encodeList(body, check) : undefined
        const broken = list ? list.broken : check(body)
        if (broken !== undefined) throw new Error(`${operation.id} answers against the contract: ${broken}`)
        if (list) await sendPieces(response, operation.status, limits, list.pieces)
        else send(response, operation.status, limits, JSON.stringify(body))
      } catch (error) {
        const status = fail(response, error, operation)
        if (deed) audit.end(deed, operation, status)
      }
    }
  }

  /** What was revoked meanwhile ends what it began. */
  const mayStill = (request: Request, operation: Operation): boolean => {
    try {
      const caller = authenticate(request)
      checkRoles(caller, operation)
      checkRelayer(caller, operation, request.params.relayer_id as string | undefined)
      return true
    } catch {
      return false
    }
  }

  /** The status that it was answered with. */
  const fail = (response: Response, error: unknown, operation: Operation | undefined): number => {
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
      unread ? { ...failure.headers, Connection: 'close' } : failure.headers,
      JSON.stringify(failure.body),
    )
    return failure.status
  }

  for (const file of reference) router.get(file.path, file.serve)
  for (const operation of operations) {
    if (!operation.guarded) router[operation.method](operation.route, serve(operation))
  }
  router.use((request, response, next) => {
    exchangeOf(response).caller = authenticate(request)
    next()
  })
  for (const operation of operations.filter(({ guarded }) => guarded).sort(staticFirst)) {
    router[operation.method](operation.route, serve(operation))
  }
  for (const [route, allowed] of allowedMethods(operations)) {
    router.all(route, () => {
      throw new ApiError('method_not_allowed', 'Method Not Allowed', [], { Allow: allowed.join(', ') })
    })
  }
  router.use(() => {
    throw new ApiError('not_found', 'Not Found')
  })
  return (request, response) =>
    router(request as Request, response as Response, (error) => fail(response as Response, error, undefined))
}

async function readParts(operation: Operation, request: Request) {
  const { url } = request
  const question = url.indexOf('?')
  const mediaType = operation.mediaTypes.length > 0 ? mediaTypeOf(request, operation.mediaTypes) : undefined
  const parts = {
    query: operation.readQuery(question < 0 ? '' : url.slice(question + 1)),
    headers: request.headers,
    params: request.params,
    body: mediaType === undefined ? undefined : await readJson(request, operation.amounts),
  }
  operation.checkRequest(parts, mediaType)
  return parts
}

const hasBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const exchangeOf = (response: Response): Exchange => response.locals as Exchange

/** Writes the answer once, with its length. */
function send(response: Response, status: number, headers: Record<string, string>, text: string) {
  begin(response, status, headers, Buffer.byteLength(text))
  response.end(text)
}

/** Writes a long answer as the client takes it. */
async function sendPieces(response: Response, status: number, headers: Record<string, string>, pieces: Buffer[]) {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  begin(response, status, headers, length)
  if (pieces.length === 1 || response.req.method === 'HEAD') return void response.end(pieces[0])
  await pipeline(Readable.from(pieces), response).catch(unlessGone)
}

function begin(response: Response, status: number, headers: Record<string, string>, length: number) {
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': length,
    'X-Request-Id': exchangeOf(response).request_id,
    ...securityHeaders,
    ...headers,
  })
}

/** Writes events as they come, until there are no more or the client has gone. */
async function stream(response: Response, headers: Record<string, string>, events: AsyncIterable<string>) {
  response.writeHead(200, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'X-Request-Id': exchangeOf(response).request_id,
    ...securityHeaders,
    ...headers,
  })
  if (response.req.method === 'HEAD') return void response.end()
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

/** /a/pending before /a/:id. */
function staticFirst({ route: a }: Operation, { route: b }: Operation): number {
  const [left, right] = [a.split('/'), b.split('/')]
  const at = left.findIndex((segment, index) => segment !== right[index])
  return at < 0 ? left.length - right.length : Number(left[at]?.startsWith(':')) - Number(right[at]?.startsWith(':'))
}

function allowedMethods(operations: Operation[]): Map<string, string[]> {
  const allowed = new Map<string, string[]>()
  for (const { route, method } of operations) {
    const methods = allowed.get(route) ?? []
    methods.push(...(method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]))
    allowed.set(route, methods)
  }
  return new Map([...allowed].sort(([a], [b]) => staticFirst({ route: a } as Operation, { route: b } as Operation)))
}
