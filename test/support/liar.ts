import { createServer, type IncomingMessage } from 'node:http'
import type { Anvil } from './anvil.ts'
import { listen } from './listen.ts'

/** Answers a call in the node's place; undefined: the node's own answer stands. An Error is answered as a JSON-RPC error. */
export type Lie = (method: string, params: unknown[], truth: () => Promise<unknown>) => unknown

export interface Liar {
  url: string
  /** Undefined: it answers truthfully. */
  lie: Lie | undefined
  /** How often each method was called. */
  counts: Record<string, number>
}

interface Call {
  id: unknown
  method: string
  params?: unknown[]
}

/** A proxy before the chain whose answers the test can replace. It is stopped after the test. */
export async function testLiar(chain: Pick<Anvil, 'rpc'>): Promise<Liar> {
  const liar: Liar = { url: '', lie: undefined, counts: {} }
  const answer = async ({ id, method, params = [] }: Call) => {
    liar.counts[method] = (liar.counts[method] ?? 0) + 1
    const truth = () => chain.rpc(method, params)
    try {
      const said = await liar.lie?.(method, params, truth)
      if (said instanceof Error) throw said
      return { jsonrpc: '2.0', id, result: said === undefined ? await truth() : said }
    } catch (error) {
      const { code = -32_000, message } = error as Error & { code?: number }
      return { jsonrpc: '2.0', id, error: { code, message } }
    }
  }
  const server = createServer((request, response) => {
    read(request)
      .then(async (calls: Call | Call[]) => (Array.isArray(calls) ? Promise.all(calls.map(answer)) : answer(calls)))
      .then((said) => response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(said)))
      .catch(() => response.destroy())
  })
  server.keepAliveTimeout = 60_000
  liar.url = await listen(server)
  return liar
}

async function read(request: IncomingMessage): Promise<Call | Call[]> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString('utf8'))
}
