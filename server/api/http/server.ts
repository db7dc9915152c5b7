import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { ErrorCode } from '../../domain/errors.ts'
import { Connections } from './connections.ts'
import { bodyOf, type Detail, statusOf } from './errors.ts'
import { isDoubled, securityHeaders, securityLines } from './headers.ts'
import { type Ended, newRequestContext, type RequestContext } from './request-context.ts'

/** Milliseconds. Node's defaults let a slow client hold a socket for minutes. */
export interface HttpTimes {
  /** From the connection, or a request's first byte, to the end of its headers. */
  headers: number
  /** To the end of its body. */
  request: number
  /** For the client to read a response. */
  answer: number
  /** Between two requests of a connection. */
  idle: number
  /** The interval of the checks of these limits. */
  check: number
  /** For requests and signatures in progress when the service stops. */
  grace: number
}

const grace = 8_000
export const usualTimes: HttpTimes = {
  headers: 10_000,
  request: 30_000,
  answer: 30_000,
  idle: 60_000,
  check: 1_000,
  grace,
}
const maxHeaderBytes = 16_384
const maxConnections = 10_000
/** How long a refused client may take to read the response and close. Node would wait forever. */
const lingerMs = 1_000
/** The grace period of connections without a request when the service stops. */
const quietMs = 1_000

interface HttpServer {
  port: number
  /** Accepts no new request, finishes requests in flight, and closes all connections after a grace period of 8 s. */
  close(): Promise<void>
}

interface ServerDependencies {
  listener: RequestListener
  host: string
  port: number
  makeId(): string
  /** Monotonic milliseconds. */
  elapsed(): number
  /** Called for every response when it is complete or has failed. */
  ended: Ended
  /** Overrides of the default limits. */
  times?: Partial<HttpTimes> | undefined
}

/** Starts the server. The listener finds the request context in `response.locals`. Throws when the address is not available. */
export async function listen(dependencies: ServerDependencies): Promise<HttpServer> {
  const { listener, host, port, makeId, elapsed, ended } = dependencies
  const times = { ...usualTimes, ...dependencies.times }
  let closing = false
  const connections = new Connections(times.answer, elapsed)
  /** Responses after which the connection is closed, because malformed bytes followed their requests. */
  const last = new WeakSet<ServerResponse>()
  /** Connections on which bytes were refused. A request that arrives completely after its timeout must not be carried out. */
  const refused = new WeakSet<Socket>()
  const begin = (
    request: IncomingMessage,
    response: ServerResponse & { locals?: RequestContext },
    carryOut: () => void,
  ) => {
    const started = elapsed()
    const context = newRequestContext(request, makeId)
    const { socket } = request
    response.locals = context
    response.on('close', () => {
      connections.ended(socket, response)
      if (last.has(response)) endSocket(socket)
      context.status = response.headersSent ? response.statusCode : 0
      context.aborted = !response.writableFinished
      context.duration_ms = elapsed() - started
      ended(context)
    })
    connections.begun(socket, response, carryOut)
  }
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    if (refused.has(request.socket)) return
    begin(request, response, () => {
      // It may have been refused while it waited.
      if (response.headersSent) return
      const fault = faultOf(request)
      if (fault) return refuse(response, 'invalid_request', fault)
      if (closing) response.setHeader('Connection', 'close')
      listener(request, response as never)
    })
  }
  const server = createServer(
    {
      headersTimeout: times.headers,
      requestTimeout: times.request,
      keepAliveTimeout: times.idle,
      connectionsCheckingInterval: times.check,
      maxHeaderSize: maxHeaderBytes,
      requireHostHeader: false,
    },
    serve,
  )
  server.maxConnections = maxConnections
  // A client that half-closes after its request still gets its response. Node's types omit the setting.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', (socket) => connections.opened(socket))
  const checking = setInterval(() => connections.cutStalled(), times.check).unref()
  server.once('close', () => clearInterval(checking))
  /** Responds to bytes that are not a request. */
  const answerRaw = (socket: Socket, code: ErrorCode) => {
    refused.add(socket)
    const context = newRequestContext(undefined, makeId)
    context.remote_address = socket.remoteAddress ?? ''
    context.status = statusOf[code]
    writeFailure(socket, code, context)
    ended(context)
  }
  server.on('clientError', (error: ParseError, stream) => {
    const socket = stream as Socket
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const answer = connections.answersOn(socket).at(-1)
    if (!answer) return answerRaw(socket, codeOf(error))
    if (isRefusable(answer)) return refuse(answer, codeOf(error))
    last.add(answer)
    if (!answer.headersSent) answer.setHeader('Connection', 'close')
  })
  server.on('connect', (_request, socket) => answerRaw(socket as Socket, 'not_implemented'))
  server.on('checkExpectation', (request, response) => {
    begin(request, response, () => refuse(response, 'expectation_failed'))
  })
  server.on('checkContinue', (request, response) => {
    // The 100 Continue is sent when the body is first read, which is after authentication.
    request.once('resume', () => response.headersSent || response.writeContinue())
    serve(request, response)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })

  return {
    port: (server.address() as AddressInfo).port,
    close() {
      closing = true
      return closeGracefully(server, times.grace, () => connections.quiet())
    },
  }
}

function closeGracefully(server: Server, graceMs: number, quiet: () => Socket[]): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
    // A keep-alive connection can be closed only while it is idle; a half-open one is never idle.
    const idle = setInterval(() => server.closeIdleConnections(), 100)
    // Node treats a connection without a complete request as active.
    const cut = setTimeout(() => quiet().forEach((socket) => void socket.destroy()), quietMs)
    const end = setTimeout(() => server.closeAllConnections(), graceMs)
    server.once('close', () => {
      clearInterval(idle)
      clearTimeout(cut)
      clearTimeout(end)
    })
  })
}

const authority = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=%]{0,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{0,5})?$/

/** The fault of a request that Node accepts although HTTP forbids it (RFC 9112, 3.2 and 6.1); undefined for a valid one. */
function faultOf(request: IncomingMessage): Detail | undefined {
  const { headers, httpVersion, url = '' } = request
  const { host, 'transfer-encoding': transfer } = headers
  if (host === undefined ? httpVersion !== '1.0' : isDoubled(request, 'host') || !authority.test(host)) {
    return {
      path: '/headers/host',
      message: 'must be given exactly once, as a host name or an IP address with an optional port',
    }
  }
  if (/[#\\]/.test(url)) return { path: '/path', message: 'must not contain # or \\' }
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') {
    return { path: '/headers/transfer-encoding', message: 'must be "chunked"; no other transfer coding is accepted' }
  }
  return undefined
}

/** Sends a failure and closes the connection. Earlier pipelined requests on the connection get their responses first. */
function refuse(response: ServerResponse & { locals?: RequestContext }, code: ErrorCode, detail?: Detail) {
  response.writeHead(statusOf[code], {
    'Content-Type': 'application/json; charset=utf-8',
    'X-Request-Id': response.locals?.request_id,
    ...securityHeaders,
    Connection: 'close',
  })
  response.end(failureBody(code, response.locals?.request_id ?? '', detail))
}

function failureBody(code: ErrorCode, requestId: string, detail?: Detail): string {
  const body = bodyOf(code, STATUS_CODES[statusOf[code]] ?? '', requestId)
  return JSON.stringify(detail ? { ...body, details: [{ code: 'invalid_value', ...detail }] } : body)
}

/** Whether the rest of the request is missing and its handler has not started. Once refused, it does not start. */
const isRefusable = ({ req, headersSent, locals }: ServerResponse & { locals?: RequestContext }): boolean =>
  !req.complete && !headersSent && locals?.started !== true

function endSocket(socket: Socket, last = '') {
  socket.end(last)
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

interface ParseError extends NodeJS.ErrnoException {
  rawPacket?: Buffer
}

/** A request line whose method is a token (RFC 9110, 5.6.2) that Node's parser does not know. */
const requestLine = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100} \S{1,16000} HTTP\/1\.[01]\r?\n/

function codeOf({ code, rawPacket }: ParseError): ErrorCode {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return 'header_too_large'
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'request_timeout'
    case 'HPE_INVALID_METHOD':
      return requestLine.test(rawPacket?.toString('latin1', 0, maxHeaderBytes) ?? '')
        ? 'not_implemented'
        : 'invalid_request'
    default:
      return 'invalid_request'
  }
}

/** Bytes that Node cannot parse get a failure of the same form as any other. */
function writeFailure(socket: Socket, code: ErrorCode, { request_id }: RequestContext) {
  const status = statusOf[code]
  const body = failureBody(code, request_id)
  endSocket(
    socket,
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `X-Request-Id: ${request_id}\r\n${securityLines}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  )
}
