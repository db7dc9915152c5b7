import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { nodeFlags } from '../bench/node-flags.ts'
import { apiKey, inFolder, masterKey, pinned } from '../bench/processes.ts'
import { type ContractOperation, operations } from '../support/contract.ts'
import { urlOf as postgresUrl, startPostgres, stopPostgres } from '../support/postgres-server.ts'
import type { Longest } from './blocks.ts'
import { prepareDemo } from './demo.ts'
import type { Finding } from './finding.ts'
import { bodiesOf } from './shapes.ts'
import { type Wide, wideRequests } from './wide.ts'

export const maxBlockMs = 50
/** The lowest of several measurements counts, because other programs use the machine too. */
const tries = 5
const streamMs = 1_000
const root = join(import.meta.dirname, '..', '..')

/** How long bodies of various shapes block the event loop. */
export const bodies = (): Promise<Finding[]> =>
  withService(async (child, url) => {
    const findings: Finding[] = []
    for (const operation of operations.filter(({ bodies }) => Object.keys(bodies).length > 0)) {
      const all = [...bodiesOf(operation)].map(
        ({ name, text }): Wide => ({ ...requestOf(operation), name, body: text }),
      )
      findings.push(await worstOf(operation.id, child, url, all))
    }
    return findings
  })

/** How long requests that read large parts of the database block it. */
export const lists = (): Promise<Finding[]> =>
  withService(async (child, url, folder) => {
    const findings: Finding[] = []
    for (const [name, requests] of Object.entries(await wideRequests(url, folder))) {
      findings.push(await worstOf(name, child, url, requests))
    }
    return findings
  })

/** `--postgres`: the service has a PostgreSQL database, which a second server shares. */
const onPostgres = process.argv.includes('--postgres')

/** `other`: the second server's URL; the same as `url` with SQLite. */
export function withService<T>(
  work: (child: ChildProcess, url: string, folder: string, other: string) => Promise<T>,
  rpcUrl?: string,
): Promise<T> {
  return inFolder((folder) =>
    withDatabase(async (settings) => {
      const child = spawnService(folder, settings)
      const second = onPostgres ? spawnService(join(folder, 'second'), settings) : undefined
      try {
        const url = await urlOf(child)
        const other = second ? await urlOf(second) : url
        await prepareDemo(url, rpcUrl)
        return await work(child, url, folder, other)
      } finally {
        child.kill('SIGKILL')
        second?.kill('SIGKILL')
      }
    }),
  )
}

/** The settings that name the database. */
function withDatabase<T>(work: (settings: Record<string, string>) => Promise<T>): Promise<T> {
  if (!onPostgres) return work({})
  return inFolder(async (folder) => {
    await startPostgres(folder)
    try {
      return await work({ DATABASE_URL: postgresUrl(folder, 'postgres') })
    } finally {
      await stopPostgres(folder, 'immediate')
    }
  })
}

async function worstOf(what: string, child: ChildProcess, url: string, requests: Wide[]): Promise<Finding> {
  let worst = { name: '', ...noBlock }
  for (const request of requests) {
    let least: Block = await blockOf(child, url, request)
    for (let attempt = 1; attempt < tries && judged(least) > judged(worst); attempt += 1) {
      least = lesser(least, await blockOf(child, url, request))
    }
    if (judged(least) > judged(worst)) worst = { name: request.name, ...least }
  }
  return { ...blockFinding(`${what} (${requests.length}), worst: ${worst.name}`, worst), point: 3 }
}

/** The longest turn of the service's event loop: see blocks.ts. */
export type Block = Longest

export const noBlock: Block = { wall_ms: 0, own_ms: 0, cpu_ms: 0, wait_p99_ms: 0, total_cpu_ms: 0 }
/**
 * The time that the bound limits: the duration of a turn without the time in which other programs had its core, because that time shows
 * the load of the machine and not the cost of a request. `--shared`: only CPU time, for a machine whose disk other programs use too.
 */
const isShared = process.argv.includes('--shared')
export const judged = ({ own_ms, cpu_ms }: Block): number => (isShared ? cpu_ms : own_ms)
export const lesser = (one: Block, other: Block): Block => (judged(one) <= judged(other) ? one : other)
export const worse = (one: Block, other: Block): Block => ({
  wall_ms: Math.max(one.wall_ms, other.wall_ms),
  own_ms: Math.max(one.own_ms, other.own_ms),
  cpu_ms: Math.max(one.cpu_ms, other.cpu_ms),
  wait_p99_ms: Math.max(one.wait_p99_ms, other.wait_p99_ms),
  total_cpu_ms: Math.max(one.total_cpu_ms, other.total_cpu_ms),
})

export const blockFinding = (what: string, block: Block): Finding => ({
  what,
  found: `own ${block.own_ms.toFixed(0)} ms (CPU ${block.cpu_ms.toFixed(0)}, with other programs ${block.wall_ms.toFixed(0)})`,
  wanted: isShared ? `CPU under ${maxBlockMs} ms` : `own under ${maxBlockMs} ms`,
  holds: judged(block) < maxBlockMs,
  block_ms: judged(block),
})

/** The longest block during a request, its status, and how long it was measured. */
export async function blockOf(
  child: ChildProcess,
  url: string,
  request: Wide,
  token = apiKey,
): Promise<Block & { status: number; elapsed_ms: number }> {
  const { method, path, body, type, after_ms = 3 } = request
  await longest(child)
  const began = performance.now()
  // Measuring begins at the next timer of blocks.ts.
  await pause(5)
  const headers = {
    Authorization: `Bearer ${token}`,
    'If-Match': '*',
    ...(body !== undefined && { 'Content-Type': type }),
    ...(request.stream && { 'Last-Event-ID': '0' }),
  }
  const signal = request.stream ? { signal: AbortSignal.timeout(streamMs) } : {}
  const answer = await fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body }), ...signal })
  const text = await answer.text().catch((error) => {
    if (!request.stream) throw error
    return ''
  })
  const isWrong = (answer.status >= 500 && answer.status !== 503) || (request.succeeds && !answer.ok)
  if (isWrong) throw new Error(`${method} ${path} answers ${answer.status}: ${text.slice(0, 300)}`)
  await pause(after_ms)
  return { ...(await longest(child)), status: answer.status, elapsed_ms: performance.now() - began }
}

/** The longest block since the last call. */
export async function longest(child: ChildProcess): Promise<Block> {
  child.send('longest?')
  const [block] = await once(child, 'message')
  return block
}

const requestOf = ({ method, path, bodies }: ContractOperation) => ({
  method,
  path: path
    .replace('{relayer_id}', 'demo')
    .replace('{network_id}', 'evm:local')
    .replaceAll(/\{\w+\}/g, 'none'),
  type: Object.keys(bodies)[0] as string,
})

/** As it is shipped, on a core without the attackers. */
function spawnService(folder: string, settings: Record<string, string>): ChildProcess {
  const { PATH = '' } = process.env
  const hook = join(import.meta.dirname, 'blocks.ts')
  const [command, args] = pinned('servers', [...nodeFlags, '--import', hook, 'server/main.ts'])
  return spawn(command, args, {
    cwd: root,
    env: {
      PATH,
      NODE_ENV: 'production',
      PORT: '0',
      DATA_DIR: folder,
      API_KEY: apiKey,
      MASTER_KEY: masterKey,
      ALLOW_PRIVATE_TARGETS: 'true',
      RATE_LIMIT_BURST: '10000000',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
}

function urlOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The service ended with ${code}`)))
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      const url = /API\s+(http:\/\/[^\s/]+)\/api\/v1\n/.exec(text)?.[1]
      if (url) resolve(url)
    })
  })
}
