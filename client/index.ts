import createClient from 'openapi-fetch'
import type { paths } from '../generated/client.ts'
import type { ClientByPath, Method } from './contract-types.ts'
import { RelayerError } from './error.ts'
import { toJson } from './json.ts'
import { type NamedMethods, namedMethods } from './methods.ts'
import { obeyRetryAfter } from './retry.ts'

export type * from '../generated/client.ts'
export { type Detail, RelayerError } from './error.ts'

export interface RelayerClientOptions {
  /** The service's URL, for example `http://127.0.0.1:8080`. */
  baseUrl: string
  /** The API key. */
  token: string
  /** Replaces the global fetch, for example to use a proxy or another connection pool. */
  fetch?: (request: Request) => Promise<Response>
  /** The number of retries of a request that gets a 429, each after its Retry-After. Default 3. */
  maxRetries?: number
}

/**
 * Every operation of the contract, by a name (`client.transactions.send`) and by its method and path (`client.post`). A failure throws
 * a RelayerError with its status, code, message and details. A request without a response throws the error of fetch.
 */
export interface RelayerClient extends ClientByPath, NamedMethods {}

const defaultPerPage = 100
const maxRemembered = 100_000

export function createRelayerClient({ baseUrl, token, fetch, maxRetries = 3 }: RelayerClientOptions): RelayerClient {
  const client = createClient<paths>({
    // The contract's paths begin with /api/v1.
    baseUrl: baseUrl.replace(/\/+$/, '').replace(/\/api\/v1$/, ''),
    headers: { Authorization: `Bearer ${token}` },
    fetch: obeyRetryAfter(fetch ?? globalThis.fetch, maxRetries),
    bodySerializer: toJson,
    // A redirect would send the token, or a mutation, to another server.
    redirect: 'error',
  })

  const call =
    (method: Method) =>
    async (path: string, input: AnyInput = {}) => {
      const { path: inPath, query, header, body, signal } = input
      checkPath(path, inPath)
      const answer = await client.request(
        method,
        path as never,
        { params: { path: inPath, query, header }, body, signal } as never,
      )
      if (!answer.response.ok) throw RelayerError.from(answer.response, answer.error)
      return answer.data
    }
  const get = call('get')

  const byPath = {
    get,
    post: call('post'),
    put: call('put'),
    patch: call('patch'),
    delete: call('delete'),
    async *all(path: string, input: AnyInput = {}) {
      const seen = new Set<string>()
      const query = { per_page: defaultPerPage, ...input.query }
      for (let page = Number(input.query?.page ?? 1); ; page += 1) {
        const answer = (await get(path, { ...input, query: { ...query, page } })) as unknown as Page
        for (const item of answer.data) {
          if (item.id !== undefined && seen.has(item.id)) continue
          if (item.id !== undefined) remember(seen, item.id)
          yield item
        }
        const { current_page, per_page, total_items } = answer.pagination
        if (per_page === 0 || current_page * per_page >= total_items) return
      }
    },
  } as ClientByPath
  return { ...byPath, ...namedMethods(byPath) }
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

interface AnyInput {
  path?: Record<string, string>
  query?: Record<string, unknown>
  header?: Record<string, string>
  body?: unknown
  signal?: AbortSignal
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
