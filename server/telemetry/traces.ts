import { AsyncLocalStorage } from 'node:async_hooks'
import { type Context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Observer } from '../domain/observer.ts'

/** The members of a request's context (api/http/request-context.ts) that are traced. */
interface Request {
  request_id: string
  method: string
  operation: string | undefined
  status: number
  aborted: boolean
}

interface Traces {
  observer: Pick<Observer, 'rpc' | 'attempt'>
  /** Starts a request's span, as a child of the `traceparent` span if there is one, and runs the request in it. */
  request(request: Request, traceparent: string | undefined, work: () => void): void
  requested(request: Request): void
  /** Exports the remaining spans; waits for at most a few seconds. */
  close(): Promise<void>
}

interface TracesDependencies {
  /** The OTLP over HTTP endpoint. */
  url: string
  headers: Record<string, string>
  service_name: string
  /** The path of an operation in the contract. */
  routeOf(operation: string): string | undefined
}

/** The span that work belongs to. Work that continues after the request has ended gets a root span. */
interface Place {
  context: Context
  ended: boolean
}

const maxQueue = 2_048
const exportTimeoutMs = 3_000

/** Spans of requests, calls to nodes and delivery attempts. Attributes are named by OpenTelemetry's semantic conventions. */
export function openTraces({ url, headers, service_name, routeOf }: TracesDependencies): Traces {
  const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: exportTimeoutMs })
  const options = { maxQueueSize: maxQueue, exportTimeoutMillis: exportTimeoutMs }
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': service_name }),
    spanProcessors: [new BatchSpanProcessor({ exporter, ...options })],
  })
  const tracer = provider.getTracer('evm-relayer-service')
  const places = new AsyncLocalStorage<Place>()
  const requests = new WeakMap<Request, { span: Span; place: Place }>()

  async function within<T>(name: string, attributes: Record<string, string | number>, run: (span: Span) => Promise<T>) {
    const place = places.getStore()
    const parent = place && !place.ended ? place.context : ROOT_CONTEXT
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent)
    try {
      return await run(span)
    } catch (error) {
      // The error's class only: its message may contain secrets.
      fail(span, error instanceof Error ? error.name : 'Error')
      throw error
    } finally {
      span.end()
    }
  }

  return {
    observer: {
      rpc({ host, methods }, run) {
        const [method = ''] = methods
        const name = methods.length === 1 ? method : `batch of ${methods.length}`
        const distinct = [...new Set(methods)].sort().join(' ')
        return within(name, { 'rpc.system': 'jsonrpc', 'rpc.method': distinct, 'server.address': host }, run)
      },
      attempt: ({ host, event_id, number }, run) =>
        within(
          'delivery',
          { 'http.request.method': 'POST', 'server.address': host, 'webhook.id': event_id, 'webhook.attempt': number },
          async (span) => {
            const result = await run()
            if (result.status !== null) span.setAttribute('http.response.status_code', result.status)
            if (result.error !== null) fail(span, result.status === null ? 'no answer' : String(result.status))
            return result
          },
        ),
    },
    request(request, traceparent, work) {
      const parent = parseTraceparent(traceparent)
      const above = parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT
      const span = tracer.startSpan(request.method, { kind: SpanKind.SERVER }, above)
      const place = { context: trace.setSpan(above, span), ended: false }
      requests.set(request, { span, place })
      places.run(place, work)
    },
    requested(request) {
      const { request_id, method, operation, status, aborted } = request
      const known = requests.get(request)
      if (!known) return
      const { span, place } = known
      place.ended = true
      if (operation !== undefined) span.updateName(operation)
      // The path and the query stay out, because callers may put secrets into them.
      span.setAttributes({
        'http.request.method': method,
        'http.request.header.x-request-id': [request_id],
        ...(operation !== undefined && { 'http.route': routeOf(operation) }),
        ...(status > 0 && { 'http.response.status_code': status }),
      })
      if (status >= 500) fail(span, String(status))
      else if (aborted) span.setAttribute('error.type', 'aborted')
      span.end()
    },
    close: () => provider.shutdown().catch(() => undefined),
  }
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

/** W3C Trace Context, section 3.2, version 00. From later versions the members of version 00 are read. */
const shape = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,512})?$/

/** Parses a `traceparent` header into the caller's span; undefined when it is absent or invalid. */
export function parseTraceparent(
  header: string | undefined,
): { traceId: string; spanId: string; traceFlags: number } | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = shape.exec(header ?? '') ?? []
  if (version === undefined || (version === '00' && rest !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 }
}
