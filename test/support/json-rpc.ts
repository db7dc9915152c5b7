/** The JSON-RPC endpoint of a relayer or a pool. */
export interface JsonRpc {
  url: string
  headers: Record<string, string>
  /** Sends a body as it is. */
  post(body: unknown, headers?: Record<string, string>): Promise<{ status: number; answer: Answer }>
  /** The whole answer to one call. */
  call(method: string, params?: unknown[], headers?: Record<string, string>): Promise<Answer>
  /** The result of one call. Throws for an error. */
  result<T = string>(method: string, params?: unknown[], headers?: Record<string, string>): Promise<T>
}

// biome-ignore lint/suspicious/noExplicitAny: any result is possible.
export type Answer = any

export function jsonRpcOf(
  serviceUrl: string,
  token: string,
  idOf: string,
  of: 'relayers' | 'pools' = 'relayers',
): JsonRpc {
  const url = `${serviceUrl}/api/v1/${of}/${idOf}/rpc`
  const headers = { Authorization: `Bearer ${token}` }
  let id = 0
  const endpoint: JsonRpc = {
    url,
    headers,
    async post(body, more = {}) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json', ...more },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      })
      const text = await response.text()
      return { status: response.status, answer: text === '' ? undefined : JSON.parse(text) }
    },
    async call(method, params = [], more = {}) {
      id += 1
      return (await endpoint.post({ jsonrpc: '2.0', id, method, params }, more)).answer
    },
    async result(method, params, more) {
      const { result, error } = await endpoint.call(method, params, more)
      if (error) throw new Error(JSON.stringify(error))
      return result
    },
  }
  return endpoint
}
