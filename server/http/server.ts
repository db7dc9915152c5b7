import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createConnections } from './connections.ts'
import { type Ended, type Exchange, newExchange } from './exchange.ts'
import { securityHeaders, securityLines } from './security-headers.ts'

/** Milliseconds. Node's own defaults let a slow client hold a socket for minutes. */
export interface HttpTimes {
  /** From the connection, or a request's first byte, to the end of its headers. */
  headers: number
  /** To the end of its body. */
  request: number
  /** For the client to take an answer. */
  answer: number
  /** Between two requests. */
  idle: number
  /** How often it is looked whether one of these is over. */
  check: number
}

const usual: HttpTimes = { headers: 10_000, request: 30_000, answer: 30_000, idle: 60_000, check: 1_000 }
const max_header_bytes = 16_384
const max_connections = 10_000
/** How long a client that was refused has to hear it and close. Node would wait for its end of the connection for ever. */
const linger_ms = 1_000
const grace_ms = 8_000
/** How long a connection on which no request has begun is kept when the service ends. */
const quiet_ms = 1_000

export interface HttpServer {
  port: number
  /** Takes no new request, ends those under way, and after 8 s whatever is left. */
  close(): Promise<void>
}

export interface ServerParts {
  listener: RequestListener
  host: string
  port: number
  makeId(): string
  /** Milliseconds, never going back. */
  elapsed(): number
  /** Told of every answer when it has gone, or will not go. */
  ended: Ended
  /** In the place of the usual ones. */
  times?: Partial<HttpTimes> | undefined
}

/** Listens; the listener finds the request's exchange in `response.locals`. Throws when the address cannot be had. */
export async function listen(parts: ServerParts): Promise<HttpServer> {
  const { listener, host, port, makeId, elapsed, ended } = parts
  const times = { ...usual, ...parts.times }
  let closing = false
  const connections = createConnections(times.answer, elapsed)
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    const started = elapsed()
    const exchange = newExchange(request, makeId)
    const { socket } = request
    connections.begun(socket)
    response.on('close', () => {
      connections.ended(socket)
      exchange.status = response.headersSent ? response.statusCode : 0
      exchange.aborted = !response.writableFinished
      exchange.duration_ms = elapsed() - started
      ended(exchange)
    })
    return exchange
  }
  const serve = (request: IncomingMessage, response: ServerResponse & { locals?: Exchange }) => {
    response.locals = begin(request, response)
    if (!isWellFormed(request)) return refuse(response, 400, response.locals)
    if (closing) response.setHeader('Connection', 'close')
    listener(request, response as never)
  }
  const server = createServer(
    {
      headersTimeout: times.headers,
      requestTimeout: times.request,
      keepAliveTimeout: times.idle,
      connectionsCheckingInterval: times.check,
      maxHeaderSize: max_header_bytes,
      requireHostHeader: false,
    },
    serve,
  )
  server.maxConnections = max_connections
  server.on('connection', connections.opened)
  const checking = setInterval(connections.cutStalled, times.check).unref()
  server.once('close', () => clearInterval(checking))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const exchange = newExchange(undefined, makeId)
    exchange.remote_address = (socket as Socket).remoteAddress ?? ''
    exchange.status = answerClientError(error, socket as Socket, exchange)
    if (exchange.status !== 0) ended(exchange)
  })
  server.on('checkExpectation', (request, response) => refuse(response, 417, begin(request, response)))
  server.on('checkContinue', (request, response) => {
    // The body is asked for when somebody begins to read it, which is after the token was checked.
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
      return closeGracefully(server, connections.quiet)
    },
  }
}

function closeGracefully(server: Server, quiet: () => Socket[]): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
    // A kept-alive socket goes on being served until it is idle once; a half-open one never is.
    const idle = setInterval(() => server.closeIdleConnections(), 100)
    // Node counts a connection on which nothing was asked, or not all of it, as one that is being served.
    const cut = setTimeout(() => quiet().forEach((socket) => void socket.destroy()), quiet_ms)
    const end = setTimeout(() => server.closeAllConnections(), grace_ms)
    server.once('close', () => {
      clearInterval(idle)
      clearTimeout(cut)
      clearTimeout(end)
    })
  })
}

/** What Node itself would refuse without a body, or pass on although no URL has it. */
const isWellFormed = ({ headers, httpVersion, url = '' }: IncomingMessage): boolean =>
  (headers.host !== undefined || httpVersion === '1.0') && !/[#\\]/.test(url)

function refuse(response: ServerResponse, status: 400 | 417, { request_id }: Exchange) {
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'X-Request-Id': request_id,
    ...securityHeaders,
    Connection: 'close',
  })
  response.end(failureBody(status))
}

const failureBody = (status: number) => JSON.stringify({ success: false, data: null, message: STATUS_CODES[status] })

/** What Node cannot parse never becomes a request; it is answered in the same shape as everything else. The status; 0 for none. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket, { request_id }: Exchange): number {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return 0
  }
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
  const body = failureBody(status)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `X-Request-Id: ${request_id}\r\n${securityLines}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  )
  setTimeout(() => socket.destroy(), linger_ms).unref()
  return status
}
