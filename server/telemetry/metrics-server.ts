import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'

const limits = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000 }
const maxConnections = 50

export interface MetricsServer {
  /** The URL that Prometheus scrapes. */
  url: string
  close(): Promise<void>
}

interface MetricsServerDependencies {
  host: string
  port: number
  contentType: string
  expose(): Promise<string>
  logger: Logger
}

/** Serves GET /metrics on a separate port, which can stay closed to callers of the API. Throws when it cannot bind the address. */
export async function serveMetrics(dependencies: MetricsServerDependencies): Promise<MetricsServer> {
  const { host, port, contentType, logger } = dependencies
  let exposing: Promise<string> | undefined
  // Concurrent requests share one response.
  const expose = () => {
    exposing ??= dependencies.expose().finally(() => {
      exposing = undefined
    })
    return exposing
  }

  const server = createServer(limits, async ({ method, url }, response) => {
    if (method !== 'GET' || url?.split('?')[0] !== '/metrics') return answer(response, 404, 'text/plain', 'Not Found\n')
    try {
      answer(response, 200, contentType, await expose())
    } catch (error) {
      logger.error({ err: error }, 'metrics not readable')
      answer(response, 500, 'text/plain', 'Internal Server Error\n')
    }
  })
  server.maxConnections = maxConnections
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // `exclusive`: each process of a cluster has its own port.
    server.listen({ port, host, exclusive: true }, resolve)
  })
  const { port: bound } = server.address() as AddressInfo

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function answer(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(text)
}
