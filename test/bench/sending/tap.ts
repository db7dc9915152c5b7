import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Transaction } from 'ethers/transaction'

export interface Tap {
  url: string
  /** HTTP `requests`, and calls by method. */
  counts(): Record<string, number>
  /** By nonce: when the chain was first handed it. */
  broadcasts(): Map<number, number>
  /** When the chain was handed one, in order. */
  sends(): number[]
  stop(): Promise<void>
}

/** Passes JSON-RPC on to the node and notes when what came; it reads the notes only when asked, not under load. */
export async function startTap(target: string): Promise<Tap> {
  const agent = new Agent({ keepAlive: true })
  const unread: { at: number; body: string }[] = []
  const counted: Record<string, number> = {}
  const sent = new Map<number, number>()
  const sends: number[] = []
  const server = createServer(async (incoming, response) => {
    const body = await read(incoming)
    unread.push({ at: performance.now(), body })
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    const outgoing = request(target, { method: 'POST', agent, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, { 'Content-Type': 'application/json' })
      answer.pipe(response)
    })
    outgoing.once('error', () => response.destroy())
    outgoing.end(body)
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const note = () => {
    for (const { at, body } of unread.splice(0)) {
      counted.requests = (counted.requests ?? 0) + 1
      for (const { method, params } of [JSON.parse(body)].flat()) {
        counted[method] = (counted[method] ?? 0) + 1
        if (method !== 'eth_sendRawTransaction') continue
        sends.push(at)
        const { nonce } = Transaction.from(params[0])
        if (!sent.has(nonce)) sent.set(nonce, at)
      }
    }
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts() {
      note()
      return { ...counted }
    },
    broadcasts() {
      note()
      return sent
    },
    sends() {
      note()
      return sends
    },
    async stop() {
      agent.destroy()
      server.close()
      server.closeAllConnections()
    },
  }
}

export async function read(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}
