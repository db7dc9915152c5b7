import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { keccak256 } from 'ethers'
import { randomFrom } from './random.ts'

export type FaultKind = 'connection_refused' | keyof typeof requestFaults | keyof typeof callFaults

export interface Fault {
  kind: FaultKind
  /** Of a hit, drawn for each request, or for each call where the fault is one call's. Default 1. */
  probability?: number
  /** The same seed draws the same hits for the same calls in the same order. Default 1. */
  seed?: number
  /** The methods that are hit. A fault of whole requests hits each request with a call of one of them. Absent: all. */
  methods?: string[]
  /** The fault ends after so many hits. Absent: never. */
  times?: number
  /** Of `slow`, and of `connection_refused` when that is not certain. Default 200. */
  duration_ms?: number
  /** Of `stale`. Default 5. */
  blocks?: number
  /** Of `stale`: one of these is drawn for each hit, in place of `blocks`. */
  up_to_blocks?: number
  /** Of a fault of calls: a request is hit as a whole, as a load balancer gives it to one node. */
  whole_requests?: true
}

export interface FaultProxy {
  /** The URL of the proxy, for callers that the faults hit. */
  url: string
  /** One fault at a time; undefined ends it. Resolves when it is in force. */
  setFault(fault: Fault | undefined): Promise<void>
  /** Answers single calls in place of the node; undefined ends it. Faults are applied first. */
  setLiar(liar: Liar | undefined): void
  /** Requests with longer bodies are answered 413; undefined ends it. */
  setBodyLimit(bytes: number | undefined): void
  /** Since the start: `requests` (HTTP), each JSON-RPC method (calls), and each kind of fault (hits). */
  counts(): Record<string, number>
  /** The hashes of all transactions that the node was to be sent, each once. */
  broadcast(): string[]
  /** Their bytes. */
  broadcastBytes(): string[]
  stop(): Promise<void>
}

/** The answer to a call; undefined: the node's answer. `honest` forwards the call to the node and resolves to its answer. */
export type Liar = (
  call: Call,
  honest: (call?: Call) => Promise<Outcome>,
) => Promise<Outcome | undefined> | Outcome | undefined

export interface Call {
  id: unknown
  method: string
  params?: unknown[]
}

export interface Outcome {
  result?: unknown
  error?: { code: number; message: string }
}

interface Exchange {
  response: ServerResponse
  /** Forwards the request to the node. Resolves to the body of its response. */
  forward(): Promise<string>
  duration_ms: number
}

/**
 * Faults of a whole HTTP request. When the request is forwarded, the node acts on it and only the response is damaged. Otherwise
 * the node does not receive it.
 */
const requestFaults = {
  connection_reset: ({ response }) => reset(response),
  reset_after_forwarding: async ({ response, forward }) => {
    await forward()
    reset(response)
  },
  /** Never answered, whatever is set afterwards. */
  hang: () => {},
  slow: async ({ response, forward, duration_ms }) => {
    const body = await forward()
    await pause(duration_ms)
    send(response, body)
  },
  http_429: ({ response }) => void response.writeHead(429, { 'Retry-After': '1' }).end('Too Many Requests'),
  http_500: ({ response }) => void response.writeHead(500).end('Internal Server Error'),
  http_502_html: ({ response }) =>
    void response.writeHead(502, { 'Content-Type': 'text/html' }).end('<html><h1>502 Bad Gateway</h1></html>'),
  /** A complete HTTP response with incomplete JSON. */
  truncated_json: async ({ response, forward }) => {
    const body = await forward()
    send(response, body.slice(0, body.length / 2))
  },
  empty_body: async ({ response, forward }) => {
    await forward()
    send(response, '')
  },
  /** Like a load balancer that retries: the caller receives the node's second answer. */
  forwarded_twice: async ({ response, forward }) => {
    await forward()
    send(response, await forward())
  },
  out_of_order_batch: async ({ response, forward }) => {
    const answers: unknown[] = JSON.parse(await forward())
    send(response, JSON.stringify(answers.reverse()))
  },
  batch_refused: ({ response }) => {
    const error = { code: -32_600, message: 'batch requests are not supported' }
    send(response, JSON.stringify({ jsonrpc: '2.0', id: null, error }))
  },
} satisfies Record<string, (exchange: Exchange) => void | Promise<void>>

const batchFaults: FaultKind[] = ['out_of_order_batch', 'batch_refused']

interface Treatment {
  /** The call that the node gets instead; absent: none. */
  ask?: Call
  /** The response to the caller; absent: the node's response. */
  say?: (heard: Outcome) => Outcome
}

/** Faults of one call, also in a batch. Undefined: the fault does not apply to the method. `seen`: a block number. */
const callFaults = {
  limit_exceeded: () => ({ say: () => ({ error: { code: -32_005, message: 'limit exceeded' } }) }),
  internal_error: () => ({ say: () => ({ error: { code: -32_603, message: 'internal error' } }) }),
  /** The node will never take a transaction. */
  rejected: (call) =>
    call.method === 'eth_sendRawTransaction'
      ? { say: () => ({ error: { code: -32_000, message: 'invalid sender' } }) }
      : undefined,
  null_result: () => ({ say: () => ({ result: null }) }),
  /** Answered as by a node that is `blocks` behind. */
  stale: (call, seen) => {
    const { method, params = [] } = call
    if (method === 'eth_blockNumber') return { say: () => ({ result: hex(seen) }) }
    if (method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash') {
      return { ask: call, say: (heard) => (blockOf(heard) > seen ? { result: null } : heard) }
    }
    const place = blockParameter[method]
    const block = place === undefined ? undefined : (params[place] ?? 'latest')
    if (place === undefined) return undefined
    if (typeof block === 'string' && Number(block) > seen) {
      return { say: () => (method === 'eth_getBlockByNumber' ? { result: null } : { error: unknownBlock }) }
    }
    if (block !== 'latest' && block !== 'pending') return undefined
    return { ask: { ...call, params: Object.assign([...params], { [place]: hex(seen) }) } }
  },
  wrong_chain_id: ({ method }) => {
    if (method === 'eth_chainId') return { say: () => ({ result: '0x1' }) }
    return method === 'net_version' ? { say: () => ({ result: '1' }) } : undefined
  },
  /** The call is forwarded, and the answer is always `already known`. */
  already_known: (call) =>
    call.method === 'eth_sendRawTransaction'
      ? { ask: call, say: () => ({ error: { code: -32_000, message: 'already known' } }) }
      : undefined,
  /** The answer is the hash, and the node does not receive the transaction. */
  accepted_and_forgotten: ({ method, params = [] }) =>
    method === 'eth_sendRawTransaction' ? { say: () => ({ result: keccak256(`${params[0]}`) }) } : undefined,
} satisfies Record<string, (call: Call, seen: number) => Treatment | undefined>

const unknownBlock = { code: -32_000, message: 'header not found' }

const blockParameter: Record<string, number> = {
  eth_getTransactionCount: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_call: 1,
  eth_feeHistory: 1,
  eth_getBlockByNumber: 0,
}

export const faultKinds = [
  'connection_refused',
  ...Object.keys(requestFaults),
  ...Object.keys(callFaults),
] as readonly FaultKind[]

const maxBodyBytes = 16 * 1024 * 1024

/** An HTTP JSON-RPC proxy in front of the node at `target`: transparent until a fault is set. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const counted: Record<string, number> = {}
  const broadcast = new Map<string, string>()
  let fault: Fault | undefined
  let liar: Liar | undefined
  let bodyLimitBytes = Number.POSITIVE_INFINITY
  let hitsLeft = 0
  let random = randomFrom(1)
  let reopening: NodeJS.Timeout | undefined
  let port = 0

  const server = createServer((request, response) => {
    // Where the node does not answer, or the request is no JSON-RPC, the caller sees a reset.
    answer(request, response).catch(() => reset(response))
  })
  // Longer than callers keep a connection, so that only faults reset connections.
  server.keepAliveTimeout = 60_000

  const count = (name: string) => {
    counted[name] = (counted[name] ?? 0) + 1
  }
  const hits = ({ kind, probability = 1 }: Fault) => {
    if (hitsLeft === 0 || random() >= probability) return false
    hitsLeft -= 1
    count(kind)
    return true
  }
  const open = async () => {
    if (server.listening) return
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  }
  const refuse = () => {
    server.close()
    server.closeAllConnections()
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await read(request)
    if (body.length > bodyLimitBytes) {
      count('body_limit')
      return void response.writeHead(413, { 'Content-Type': 'text/html' }).end('<h1>413 Request Entity Too Large</h1>')
    }
    const parsed: Call | Call[] = JSON.parse(body)
    const calls = [parsed].flat()
    count('requests')
    for (const { method, params = [] } of calls) {
      count(method)
      if (method === 'eth_sendRawTransaction') broadcast.set(keccak256(`${params[0]}`), `${params[0]}`)
    }

    const current = fault
    if (!current && liar) {
      const lied = await lieTo(liar, calls)
      return send(response, JSON.stringify(Array.isArray(parsed) ? lied : lied[0]))
    }
    if (!current || !calls.some(({ method }) => concerns(current, method)))
      return send(response, await post(target, body))
    const { kind, duration_ms = 200 } = current
    if (isCallFault(kind)) {
      const outcomes = await answerCalls({ ...current, kind }, calls)
      return send(response, JSON.stringify(Array.isArray(parsed) ? outcomes : outcomes[0]))
    }
    if ((batchFaults.includes(kind) && !Array.isArray(parsed)) || !hits(current)) {
      return send(response, await post(target, body))
    }
    if (kind !== 'connection_refused') {
      return requestFaults[kind]({ response, forward: () => post(target, body), duration_ms })
    }
    refuse()
    reopening = setTimeout(open, duration_ms)
  }

  async function lieTo(current: Liar, calls: Call[]): Promise<unknown[]> {
    const answers: unknown[] = []
    for (const call of calls) {
      const honest = async (other = call): Promise<Outcome> => {
        const { result, error } = JSON.parse(await post(target, JSON.stringify({ jsonrpc: '2.0', ...other })))
        return error === undefined ? { result } : { error }
      }
      answers.push({ jsonrpc: '2.0', id: call.id, ...((await current(call, honest)) ?? (await honest())) })
    }
    return answers
  }

  /** Sends the calls that the fault forwards as one request to the node. */
  async function answerCalls(current: Fault & { kind: keyof typeof callFaults }, calls: Call[]): Promise<unknown[]> {
    const { kind, blocks = 5, up_to_blocks, whole_requests } = current
    const head = kind === 'stale' ? await blockNumber(target) : 0
    const drawSeen = () => Math.max(0, head - (up_to_blocks ? 1 + Math.floor(random() * up_to_blocks) : blocks))
    const seen = drawSeen()
    const isHit = whole_requests ? hits(current) : undefined
    const treated = calls.map((call) => {
      const at = whole_requests ? seen : drawSeen()
      const treatment: Treatment | undefined = concerns(current, call.method) ? callFaults[kind](call, at) : undefined
      return { id: call.id, ...(treatment && (isHit ?? hits(current)) ? treatment : { ask: call }) }
    })
    const asked = treated.flatMap(({ ask }) => ask ?? [])
    const heard: (Outcome & { id: unknown })[] =
      asked.length === 0
        ? []
        : [JSON.parse(await post(target, JSON.stringify(asked.length === 1 ? asked[0] : asked)))].flat()
    return treated.map(({ id, say }) => {
      const own = heard.find((one) => one.id === id) ?? {}
      return { jsonrpc: '2.0', id, ...(say ? say(own) : own) }
    })
  }

  await open()
  return {
    url: `http://127.0.0.1:${port}`,
    async setFault(next) {
      clearTimeout(reopening)
      fault = next
      hitsLeft = next?.times ?? Number.POSITIVE_INFINITY
      random = randomFrom(next?.seed ?? 1)
      const { kind, probability = 1, methods, times } = next ?? {}
      const certain = kind === 'connection_refused' && probability >= 1 && !methods && times === undefined
      if (!certain) return open()
      if (server.listening) refuse()
    },
    setLiar(next) {
      liar = next
    },
    setBodyLimit(bytes) {
      bodyLimitBytes = bytes ?? Number.POSITIVE_INFINITY
    },
    counts: () => ({ ...counted }),
    broadcast: () => [...broadcast.keys()],
    broadcastBytes: () => [...broadcast.values()],
    async stop() {
      clearTimeout(reopening)
      if (server.listening) refuse()
    },
  }
}

const isCallFault = (kind: FaultKind): kind is keyof typeof callFaults => kind in callFaults

const concerns = ({ methods }: Fault, method: string) => methods === undefined || methods.includes(method)

const hex = (number: number) => `0x${number.toString(16)}`

const blockOf = ({ result }: Outcome) => Number((result as { blockNumber?: string } | null)?.blockNumber ?? 0)

function send(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(body)
}

function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy()
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  for await (const chunk of request) {
    sizeBytes += chunk.length
    if (sizeBytes > maxBodyBytes) throw new Error(`A body of more than ${maxBodyBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function post(target: string, body: string): Promise<string> {
  const response = await fetch(target, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
  return response.text()
}

async function blockNumber(target: string): Promise<number> {
  const { result } = JSON.parse(await post(target, '{"jsonrpc":"2.0","id":0,"method":"eth_blockNumber"}'))
  return Number(result)
}
