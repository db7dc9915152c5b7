import createClient, { type Middleware } from 'openapi-fetch'
import type { paths } from '../generated/client.ts'
import { apiPromise, withDeadline, withRetries } from './call.ts'
import type { AnyInput, ClientByPath, Method, Send } from './contract-types.ts'
import { RelayerError, requestIdOf } from './error.ts'
import { toJson } from './json.ts'
import { type NamedMethods, namedMethods } from './methods.ts'

export type { Middleware } from 'openapi-fetch'
export type * from '../generated/client.ts'
export type { ApiPromise, CallOptions, WithResponse } from './call.ts'
export { RelayerError } from './error.ts'

export interface RelayerClientOptions {
  /** The service's URL, for example `http://127.0.0.1:8080`. */
  baseUrl: string
  /** The API key, or a function that returns it. The function is called for each attempt, so that it can return a rotated key. */
  token: string | (() => string | Promise<string>)
  /** Replaces the global fetch, for example to use a proxy or another connection pool. */
  fetch?: (request: Request) => Promise<Response>
  /**
   * The number of retries of a call. Default 3. Retried is a 429, after its Retry-After; with an Idempotency-Key of a named method also
   * a lost connection, a timeout of the attempt, 408, 503 and the response of a proxy.
   */
  maxRetries?: number
  /** The deadline of each call, with its retries and the pauses between them. Default: none. */
  timeoutMs?: number
  /** The deadline of each attempt. Default 90,000: the service answers a request that waits after at most 60 seconds. */
  attemptTimeoutMs?: number
}

/**
 * Every operation of the contract, by a name (`client.transactions.send`) and by its method and path (`client.post`). A failure throws
 * a RelayerError with its status, code, message and details. A request without a response throws the error of fetch, and after a
 * deadline a DOMException with the name `TimeoutError`.
 */
export interface RelayerClient extends ClientByPath, NamedMethods {
  /** Adds middleware of openapi-fetch: `onRequest`, `onResponse` and `onError` are called for each attempt. */
  use(...middleware: Middleware[]): void
  /** Removes middleware. */
  eject(...middleware: Middleware[]): void
}

const defaultAttemptTimeoutMs = 90_000
const defaultPerPage = 100
const maxRemembered = 100_000

export function createRelayerClient(options: RelayerClientOptions): RelayerClient {
  const { baseUrl, token, fetch, maxRetries = 3 } = options
  const client = createClient<paths>({
    // The contract's paths begin with /api/v1.
    baseUrl: baseUrl.replace(/\/+$/, '').replace(/\/api\/v1$/, ''),
    ...(fetch && { fetch }),
    bodySerializer: toJson,
    // A redirect would send the token, or a mutation, to another server.
    redirect: 'error',
  })

  async function attempt(method: Method, path: string, input: AnyInput, signal: AbortSignal) {
    const { path: inPath, query, header, body } = input
    const headers = { Authorization: `Bearer ${typeof token === 'string' ? token : await token()}` }
    const init = { params: { path: inPath, query, header }, headers, body, signal }
    const { data, error, response } = await client.request(method, path as never, init as never)
    if (!response.ok) throw RelayerError.from(response, error)
    return { data: data as unknown as { data: unknown }, response, requestId: requestIdOf(response) }
  }

  const send: Send = async (method, path, input, hasKey = false) => {
    checkPath(path, input.path)
    const timeoutMs = input.timeoutMs ?? options.timeoutMs ?? Number.POSITIVE_INFINITY
    const attemptTimeoutMs = input.attemptTimeoutMs ?? options.attemptTimeoutMs ?? defaultAttemptTimeoutMs
    return withDeadline('call', timeoutMs, input.signal, (signal) =>
      withRetries(maxRetries, hasKey, signal, () =>
        withDeadline('attempt', attemptTimeoutMs, signal, (signal) => attempt(method, path, input, signal)),
      ),
    )
  }

  const by =
    (method: Method) =>
    (path: string, input: AnyInput = {}) =>
      apiPromise(send(method, path, input))

  const byPath = {
    get: by('get'),
    post: by('post'),
    put: by('put'),
    patch: by('patch'),
    delete: by('delete'),
    async *all(path: string, input: AnyInput = {}) {
      const seen = new Set<string>()
      const query = { per_page: defaultPerPage, ...input.query }
      for (let page = Number(input.query?.page ?? 1); ; page += 1) {
        const { data } = await send('get', path, { ...input, query: { ...query, page } })
        const { data: items, pagination } = data as Page
        for (const item of items) {
          if (item.id !== undefined && seen.has(item.id)) continue
          if (item.id !== undefined) remember(seen, item.id)
          yield item
        }
        const { current_page, per_page, total_items } = pagination
        if (per_page === 0 || current_page * per_page >= total_items) return
      }
    },
  } as ClientByPath
  return {
    ...byPath,
    ...namedMethods(byPath, send),
    use: (...middleware) => client.use(...middleware),
    eject: (...middleware) => client.eject(...middleware),
  }
}

/**
 * A value that would make a path of another operation: `..` leads to the resource above, and DELETE of the transaction `pending` is the
 * operation that cancels all of them.
 */
function checkPath(path: string, values: Record<string, string> = {}): void {
  for (const [name, value] of Object.entries(values)) {
    const isOther = name === 'transaction_id' && value === 'pending' && path.endsWith('/{transaction_id}')
    if (isOther || ['', '.', '..'].includes(String(value))) {
      throw new RangeError(`${name} must be an id; it is ${JSON.stringify(value)}`)
    }
  }
}

interface Page {
  /** Attempts and audit entries have no id. */
  data: { id?: string }[]
  pagination: { current_page: number; per_page: number; total_items: number }
}

/** Repeats are among the most recent ids, so the oldest id can be removed. */
function remember(seen: Set<string>, id: string) {
  seen.add(id)
  if (seen.size > maxRemembered) for (const oldest of seen) return void seen.delete(oldest)
}
