import express, {
  type ErrorRequestHandler,
  type Express,
  type IRoute,
  type Request,
  type RequestHandler,
  type Response,
} from 'express'
import type { Logger } from 'pino'
import { NodeAccess } from '../../domain/node-access.ts'
import type { Caller, Handlers, OperationId } from '../../domain/operation.ts'
import { jsonRpcFailure } from '../json-rpc/errors.ts'
import type { Audit } from './audit.ts'
import { type Authentication, authorize, checkRoles } from './authentication.ts'
import { checkMediaType, maxBodyBytes, readBody } from './body.ts'
import type { KeyConnections } from './connections.ts'
import type { Operation } from './contract.ts'
import { ApiError, badRequestAt, failureMiddleware, toFailure } from './errors.ts'
import { securityHeaders } from './headers.ts'
import type { Quiet } from './idle.ts'
import { type Known, missingAt, withNearest } from './missing.ts'
import { headerReader, queryReader, readIdempotency, readIfMatch } from './query.ts'
import { bytesEach, type RateLimit } from './rate-limit.ts'
import type { Reference } from './reference.ts'
import type { RequestContext } from './request-context.ts'
import { nearestPath, normalizeTarget, searchOf } from './request-target.ts'
import { answer, envelope, streamEvents } from './send-response.ts'
import type { Held, Shares, StreamPace } from './shares.ts'

interface AppDependencies {
  operations: Operation[]
  handlers: Handlers
  authentication: Authentication
  rateLimit: RateLimit
  audit: Audit
  reference: Reference
  /** Shares of the bytes of request bodies, held from their arrival to the end of the response. */
  bodyBytes: Shares
  /** Shares of the bytes of responses, held until they are written. */
  answerBytes: Shares
  keyConnections: Pick<KeyConnections, 'count'>
  streamPace: Pick<StreamPace, 'waitMs'>
  /** What is before the authentication of calls from browsers. */
  callsFromPages: RequestHandler
  quiet: Pick<Quiet, 'noteRequest'>
  /** Ids of a kind, to name the one that a caller meant. */
  known: Known
  logger: Logger
}

/** The Express application. Its middleware is in the order of the checks. A failed check throws DomainError. */
export function createApp(dependencies: AppDependencies): Express {
  const { operations, authentication, rateLimit, audit, reference, callsFromPages, quiet, logger } = dependencies
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.enable('case sensitive routing')
  app.enable('strict routing')
  // Each operation parses its query by the parameter types of the contract. Express's own `query` is a getter.
  app.set('query parser', false)
  Object.defineProperty(app.request, 'query', { value: {}, writable: true })

  app.use(function requestContext(request, response, next) {
    quiet.noteRequest()
    audit.flushOverdue()
    request.url = normalizeTarget(request.url)
    response.setHeader('X-Request-Id', contextOf(response).request_id)
    response.setHeaders(securityHeaderMap)
    next()
  })
  for (const { path, serve } of reference) app.get(path, serve)
  const open = operations.filter(({ guarded }) => !guarded)
  for (const operation of open) mount(app.route(expressPath(operation.path)), operation, dependencies)
  app.use(callsFromPages)
  app.use(async function identify(request, response, next) {
    contextOf(response).caller = await authentication.identify(request)
    if (!response.headersSent) next()
  })
  /** A request that no operation answers counts as any other. */
  const countRefused = (response: Response) => countRequest(response, rateLimit)
  for (const [path, ofPath] of byPath(operations)) {
    const route = app.route(expressPath(path))
    for (const operation of ofPath) if (operation.guarded) mount(route, operation, dependencies)
    route.all(async (_request, response) => {
      if (!(await countRefused(response))) return
      const Allow = methodsOf(ofPath)
      const details = [{ path: '/method', message: `must be one of ${Allow}` }]
      throw new ApiError('method_not_allowed', 'Method Not Allowed', details, { Allow })
    })
  }
  const paths = operations.map(({ path }) => path)
  app.use(async (request, response) => {
    if (!(await countRefused(response))) return
    const nearest = nearestPath(paths, request.path)
    const hint = nearest === undefined ? 'GET /docs lists all paths' : `the nearest path is ${nearest}`
    throw new ApiError('not_found', 'Not Found', [{ path: '/path', message: `there is no such path; ${hint}` }])
  })
  app.use(failureMiddleware(logger))
  return app
}

/** A shorter response needs no share. */
const unnoticedBytes = 16 * 1024
/** A change of the configuration counts as five requests: every process reads the changed rows again. */
const changeBytes = 4 * bytesEach

/** Counts a request of the caller. False: it was answered meanwhile, since the rest of it cannot be read (api/http/server.ts). */
async function countRequest(response: Response, rateLimit: RateLimit): Promise<boolean> {
  const headers = await rateLimit.take(contextOf(response).caller as Caller)
  if (response.headersSent) return false
  response.set(headers)
  return true
}

/** The middleware of one operation, in the order of the checks. */
function mount(route: IRoute, operation: Operation, dependencies: AppDependencies): void {
  const readQuery = queryReader(operation.parameters)
  const { handlers, rateLimit, keyConnections, bodyBytes } = dependencies
  if (!handlers[operation.id]) throw new Error(`Operation ${operation.id} has no handler`)

  const admission: RequestHandler = async (request, response, next) => {
    const context = contextOf(response)
    context.operation = operation.id
    const caller = context.caller as Caller
    if (operation.limited) {
      if (!(await countRequest(response, rateLimit))) return
      const bytes = Math.min(Number(request.headers['content-length'] ?? 0), maxBodyBytes)
      rateLimit.weigh(caller, operation.configures ? bytes + changeBytes : bytes)
    }
    if (operation.guarded) keyConnections.count(request.socket, caller)
    if (operation.guarded) checkRoles(caller, operation)
    next()
  }
  const takesKey = operation.parameters.some(({ name }) => name === 'Idempotency-Key')
  const readRequest: RequestHandler = async (request, response, next) => {
    checkMediaType(request, operation)
    if (!takesKey && request.headers['idempotency-key'] !== undefined)
      throw badRequestAt('/headers/idempotency-key', 'has no effect on this operation; leave it out')
    request.query = readQuery(searchOf(request.url)) as Request['query']
    const caller = contextOf(response).caller as Caller
    let read = 0
    request.body = await readBody(request, operation, () => {
      const held = bodyBytes.hold(caller, 0)
      onClose(response, held.release)
      const add = (bytes: number) => {
        held.add(bytes)
        read += bytes
      }
      return { add, release: () => held.release() }
    })
    // A length that was not declared is known only now.
    if (operation.limited && request.headers['content-length'] === undefined) rateLimit.weigh(caller, read)
    await operation.compile()
    next()
  }
  const { method, checkRequest, speaksJsonRpc } = operation
  const read = speaksJsonRpc ? [readRequest, jsonRpcFailure('parse_error')] : [readRequest]
  const check = speaksJsonRpc ? [...checkRequest, jsonRpcFailure('invalid_request')] : checkRequest
  const nameNearest: ErrorRequestHandler = async (error, request, response, next) =>
    next(await withNearest(error, request, contextOf(response).caller, dependencies.known))
  route[method](admission, ...read, ...check, handle(operation, dependencies), nameNearest)
}

/** Runs the operation's handler, records its audit entry, and sends the response. */
function handle(operation: Operation, dependencies: AppDependencies): RequestHandler {
  const { operations, handlers, audit, authentication, rateLimit, answerBytes, streamPace } = dependencies
  const handler = handlers[operation.id] as (request: unknown) => Promise<unknown>
  const readHeader = headerReader(operation.parameters)
  // What has changed something is answered: its response is about as large as its body, which is held until then. JSON-RPC holds its own.
  const mayRefuse = operation.guarded && operation.audited === 'none' && !operation.speaksJsonRpc
  const hasKey = !operation.speaksJsonRpc && operation.parameters.some(({ name }) => name === 'Idempotency-Key')
  const missingError = missingAt(operation.path)
  const recorder = audit.of(operation)
  const identify = (request: Request) => authentication.identify(request)
  const operationOf = (id: OperationId) => operations.find((known) => known.id === id) as Operation

  return async (request, response) => {
    const context = contextOf(response)
    // A body may be complete long after the headers.
    const known = async () => context.caller as Caller
    const identifyNow = operation.mediaTypes.length > 0 ? identify : known
    if (operation.guarded) context.caller = await authorize(request, operation, identifyNow)
    const caller = context.caller as Caller
    const path = request.params as Record<string, string>
    const { query, body } = request
    const header = readHeader(request.headers)
    if (response.headersSent) return
    // Requests that waited together for authentication run one after another, without a turn of the event loop in between.
    audit.flushOverdue()
    context.started = true
    const auditEntry = recorder.begin(context, path)
    const holdAnswer = answerHolder(response, () => answerBytes.hold(caller, 0))
    try {
      const result = await handler({
        path,
        query,
        header,
        body,
        caller,
        idempotency: hasKey ? readIdempotency(request.get('Idempotency-Key'), caller) : undefined,
        ifMatch: readIfMatch(header['If-Match'] as string | undefined),
        auditEntry,
        beginAudit(id: OperationId) {
          const other = audit.of(operationOf(id))
          const entry = other.begin(context, path)
          return {
            auditEntry: entry,
            end(httpStatus: number, error?: unknown) {
              if (entry.replayed) auditEntry.replayed = true
              other.end(entry, httpStatus, error)
            },
          }
        },
        authorize: () => authorize(request, operation, identify),
        authorizeFor: (id: OperationId, relayerId?: string) => authorize(request, operationOf(id), identify, relayerId),
        holdAnswer,
        nodes: new NodeAccess(caller?.id ?? '', () => rateLimit.weigh(caller, bytesEach)),
        onClose: (callback: () => void) => onClose(response, callback),
        // A client that has closed its side gets the whole response only if it was written before.
        hasLeft: () => request.socket.readableEnded || (request.socket.destroyed && !response.writableFinished),
      })
      if (result === undefined && !operation.speaksJsonRpc) throw missingError(path)
      recorder.end(auditEntry, auditEntry.http_status)
      response.status(auditEntry.http_status)
      if (auditEntry.replayed) response.setHeader('Idempotent-Replayed', 'true')
      if (!operation.streams) {
        const revision = revisionIn(result)
        if (revision !== undefined) response.setHeader('ETag', `"${revision}"`)
        const body = operation.isBare ? result : envelope(result)
        await answer(response, operation, body, mayRefuse ? holdAnswer : () => undefined)
        if (operation.limited) rateLimit.weigh(caller, Number(response.getHeader('Content-Length') ?? 0))
        return
      }
      const mayFollow = () =>
        authorize(request, operation, identify).then(
          () => true,
          () => false,
        )
      await streamEvents(response, result as AsyncIterable<string>, mayFollow, (event) =>
        streamPace.waitMs(caller, event.length),
      )
    } catch (error) {
      recorder.end(auditEntry, toFailure(error, context).status, error)
      throw error
    }
  }
}

type TokenOwner = 'api_key' | 'sponsorship' | 'facilitator'

interface Revised {
  revision?: string
}

/** Of a single resource that can be changed, also beside its token. */
function revisionIn(result: unknown): string | undefined {
  const { revision, api_key, sponsorship, facilitator } = (result ?? {}) as Revised & Record<TokenOwner, Revised>
  return revision ?? (api_key ?? sponsorship ?? facilitator)?.revision
}

const securityHeaderMap = new Map(Object.entries(securityHeaders))

/** Holds the bytes of one response until it is written or the client has disconnected. */
function answerHolder(response: Response, hold: () => Held): (bytes: number) => void {
  let held: Held | undefined
  let heldBytes = 0
  return (bytes) => {
    if (bytes <= Math.max(heldBytes, unnoticedBytes)) return
    if (!held) {
      held = hold()
      onClose(response, held.release)
    }
    held.add(bytes - heldBytes)
    heldBytes = bytes
  }
}

/** Calls back when the response is complete or the client has disconnected. */
function onClose(response: Response, callback: () => void): void {
  if (response.closed) callback()
  else response.once('close', callback)
}

const contextOf = (response: Response): RequestContext => response.locals as RequestContext

/** `/relayers/{relayer_id}` is `/relayers/:relayer_id` in Express. */
const expressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

/**
 * The operations by path, in the contract's order. When two paths match a request, the one without a parameter wins (OpenAPI 3.1.1,
 * 4.8.8.2). Express uses the first match, so that path must come first in the contract. Throws at startup when it does not.
 */
function byPath(operations: Operation[]): Map<string, Operation[]> {
  const paths = new Map<string, Operation[]>()
  for (const operation of operations) {
    for (const path of pathsOf(operation)) {
      const hiding = [...paths.keys()].find((other) => other !== path && patternOf(other).test(path))
      if (hiding !== undefined) throw new Error(`${path} must come before ${hiding} in the contract`)
      paths.set(path, [...(paths.get(path) ?? []), operation])
    }
  }
  return paths
}

/** A list whose path ends with a slash in the contract is also served without the slash. */
const pathsOf = ({ method, path }: Operation): string[] =>
  method === 'get' && path.endsWith('/') ? [path, path.slice(0, -1)] : [path]

const patternOf = (path: string): RegExp => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)

const methodsOf = (operations: Operation[]): string =>
  operations.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()])).join(', ')
