import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request as open } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { nodeFlags } from '../bench/node-flags.ts'
import { apiKey, pinned } from '../bench/processes.ts'
import { startAnvil } from '../support/anvil.ts'
import { nodeEnvironment } from '../support/node-environment.ts'
import { prepareDemo } from './demo.ts'

export interface StopOptions {
  /** Requests a second. */
  rate: number
  half_open: number
  /** The time before the service is told to stop. */
  before_ms: number
}

export interface StopResult {
  code: number | NodeJS.Signals | null
  took_ms: number
  answered: number
  /** Never reached the service: refused, or cut before it was read. */
  refused: number
  /** Read by the service, or begun to be answered, and not answered to the end. */
  dropped: string[]
  /** Transactions that were answered 201, and how many of them the database does not have. */
  accepted: number
  lost: number
}

interface Sent {
  status: number
  /** Of an accepted transaction. */
  id?: string
  error?: string
}

const root = join(import.meta.dirname, '..', '..')
const balance = 10n ** 22n
/** A third of the connections are new ones, as of clients that keep none. */
const kept = new Agent({ keepAlive: true, maxSockets: 20 })

/** Asks a service in production's settings to end while requests come at a steady rate and half-open sockets hang on it. */
export async function stopUnderLoad(folder: string, options: StopOptions): Promise<StopResult> {
  const chain = await startAnvil({ blockTime_s: 1 })
  const service = start(folder)
  try {
    const url = await service.url
    const { address } = await prepareDemo(url, chain.url)
    await chain.setBalance(address, balance)
    const sockets = await halfOpen(url, options.half_open)
    const sent = new Map<string, Promise<Sent>>()
    let ending = false
    const load = (async () => {
      const began = performance.now()
      while (!ending) {
        const due = ((performance.now() - began) * options.rate) / 1_000
        while (sent.size < due) {
          const id = `stop-${sent.size}`
          sent.set(id, send(url, id, sent.size))
        }
        await pause(1)
      }
    })()
    await pause(options.before_ms)
    // On a busy machine the first acceptance takes longer.
    await Promise.any([...sent.values()].map(async (one) => (await one).id ?? Promise.reject()))
    const asked = performance.now()
    service.child.kill('SIGTERM')
    const [code, signal] = await once(service.child, 'close')
    const tookMs = performance.now() - asked
    ending = true
    await load
    for (const socket of sockets) socket.destroy()
    return { code: code ?? signal, took_ms: tookMs, ...judge(folder, await settled(sent), service.log()) }
  } finally {
    service.child.kill('SIGKILL')
    await chain.stop()
  }
}

function start(folder: string) {
  const env = {
    ...nodeEnvironment,
    NODE_ENV: 'production',
    PORT: '0',
    DATA_DIR: folder,
    API_KEY: apiKey,
    MASTER_KEY: '11'.repeat(32),
    ALLOW_PRIVATE_TARGETS: 'true',
  }
  const [command, args] = pinned('servers', [...nodeFlags, 'server/main.ts'])
  const child: ChildProcess = spawn(command, args, {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let log = ''
  const url = new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`The service does not start: ${log}`)))
    child.stdout?.setEncoding('utf8').on('data', (piece) => {
      log += piece
      const found = /API\s+(http:\/\/[^\s/]+)\/api\/v1\n/.exec(log)?.[1]
      if (found) resolve(found)
    })
  })
  return { child, url, log: () => log }
}

/** In turn: silent, part of a header, part of a body, kept alive, a stream of events. */
function halfOpen(url: string, count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(url)
  const bearer = `Host: a\r\nAuthorization: Bearer ${apiKey}\r\n`
  const beginnings = [
    '',
    'GET /api/v1/health HTTP/1.1\r\nHo',
    `POST /api/v1/relayers/demo/sign HTTP/1.1\r\n${bearer}Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{"mess`,
    'GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n',
    `GET /api/v1/relayers/demo/events HTTP/1.1\r\n${bearer}\r\n`,
  ]
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
      socket.on('error', () => undefined).resume()
      await once(socket, 'connect')
      socket.write(beginnings[index % beginnings.length] as string)
      return socket
    }),
  )
}

const to = `0x${'5a'.repeat(20)}`

/** One in four sends a transaction, two sign, one reads. */
function send(url: string, requestId: string, index: number): Promise<Sent> {
  const relayer = '/api/v1/relayers/demo'
  const [method, path, body] = [
    ['POST', `${relayer}/transactions`, JSON.stringify({ to, value: `${index}`, gas_limit: 21_000 })],
    ['POST', `${relayer}/sign`, '{"message":"Hello"}'],
    ['GET', relayer, ''],
    ['POST', `${relayer}/sign`, '{"message":"Hello"}'],
  ][index % 4] as [string, string, string]
  const headers = {
    Authorization: `Bearer ${apiKey}`,
    'X-Request-Id': requestId,
    ...(body !== '' && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
    ...(path.endsWith('transactions') && { 'Idempotency-Key': requestId }),
  }
  return new Promise((resolve) => {
    let status = 0
    const failed = (error: Error) => resolve({ status, error: error.message })
    const agent = index % 3 === 0 ? false : kept
    const request = open(`${url}${path}`, { method, headers, agent }, async (response) => {
      status = response.statusCode ?? 0
      try {
        const { data } = JSON.parse(await text(response))
        resolve({ status, id: status === 201 ? data.id : undefined })
      } catch (error) {
        failed(error as Error)
      }
    })
    request.on('error', failed)
    request.end(body)
  })
}

const settled = async (sent: Map<string, Promise<Sent>>) =>
  Promise.all([...sent].map(async ([requestId, one]) => ({ request_id: requestId, ...(await one) })))

function judge(folder: string, sent: (Sent & { request_id: string })[], log: string) {
  const read = new Set([...log.matchAll(/"request_id":"(stop-\d+)"/g)].map(([, id = '']) => id))
  const unanswered = sent.filter(({ error }) => error !== undefined)
  const dropped = unanswered.filter(({ request_id, status }) => status !== 0 || read.has(request_id))
  const wrong = sent.filter(({ status, error }) => error === undefined && (status < 200 || status > 299))
  const accepted = sent.flatMap(({ id }) => id ?? [])
  const db = new Database(join(folder, 'relayer.sqlite'), { readonly: true })
  const find = db.prepare('SELECT 1 FROM transactions WHERE id = ?')
  const lost = accepted.filter((id) => find.get(id) === undefined)
  db.close()
  return {
    answered: sent.length - unanswered.length,
    refused: unanswered.length - dropped.length,
    dropped: [...dropped, ...wrong].map(({ request_id, status, error }) => `${request_id}: ${status} ${error ?? ''}`),
    accepted: accepted.length,
    lost: lost.length,
  }
}
