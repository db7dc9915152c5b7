import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isPinned } from './cores.ts'
import type { Load } from './load-types.ts'
import type { Figures } from './measure.ts'
import { nodeFlags } from './node-flags.ts'

const root = join(import.meta.dirname, '..', '..')

export const apiKey = 'bench'.repeat(8)
export const masterKey = '11'.repeat(32)

const cores = { servers: '0', load: '1', any: '0,1' }

/** `any`: wherever the system puts it. */
export type Core = keyof typeof cores

// This process reads what the servers log. What it starts is on the same core unless it is started on others.
if (isPinned) spawnSync('taskset', ['-cp', cores.load, String(process.pid)])

export interface Server {
  url: string
  pid: number
  stop(): Promise<void>
}

export interface StartOptions {
  arguments?: string[]
  env?: Record<string, string>
  /** Default: the servers' own. */
  core?: Core
}

/** Starts a file of this project with Node; resolves when it has printed the URL at which it listens. */
export async function startServer(file: string, options: StartOptions = {}): Promise<Server> {
  const { PATH = '' } = process.env
  const [command, args] = pinned(options.core ?? 'servers', [...nodeFlags, file, ...(options.arguments ?? [])])
  const child = spawn(command, args, {
    cwd: root,
    env: { PATH, NODE_ENV: 'production', ...options.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = once(child, 'exit').then(() => process.off('exit', kill))
  return {
    url: await urlOf(child, file),
    pid: child.pid as number,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Node on some cores: the command and its arguments. */
export function pinned(core: Core, args: string[]): [string, string[]] {
  return isPinned ? ['taskset', ['-c', cores[core], process.execPath, ...args]] : [process.execPath, args]
}

function urlOf(child: ChildProcess, file: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.once('exit', () => reject(new Error(`${file} does not start:\n${said}`)))
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      said = (said + piece).slice(-10_000)
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0]
      if (!url) return
      resolve(url)
      // A line a request: it has to go somewhere.
      child.stdout?.removeAllListeners('data').resume()
    })
  })
}

/** Puts load on a server from a process of its own. Throws when an answer is no success. */
export async function putLoad(load: Load, core: 'load' | 'any' = 'load'): Promise<Figures> {
  const args = [join(import.meta.dirname, 'load.ts'), JSON.stringify(load)]
  const [command, all] = pinned(core, args)
  const { stdout } = await promisify(execFile)(command, all, { maxBuffer: 2 ** 20 })
  return JSON.parse(stdout)
}

/** Our server as it is shipped, in production's settings, its limit out of reach. */
export const startOurs = (dataDir: string, options: StartOptions = {}): Promise<Server> =>
  startServer('server/main.ts', {
    ...options,
    env: {
      DATA_DIR: dataDir,
      PORT: '0',
      API_KEY: apiKey,
      MASTER_KEY: masterKey,
      RATE_LIMIT_PER_SECOND: '1000000',
      RATE_LIMIT_BURST: '10000000',
      ALLOW_PRIVATE_TARGETS: 'true',
      ...options.env,
    },
  })

export const startBare = (databaseFile?: string): Promise<Server> =>
  startServer('test/bench/servers/bare.ts', { arguments: databaseFile ? [databaseFile] : [] })

export const startNaive = (): Promise<Server> => startServer('test/bench/servers/naive.ts')

/** A folder for `work`, removed after it. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs `work` with servers that are stopped after it, whatever becomes of it. */
export async function withServers<T>(
  starts: (() => Promise<Server>)[],
  work: (...servers: Server[]) => Promise<T>,
): Promise<T> {
  const servers: Server[] = []
  try {
    for (const start of starts) servers.push(await start())
    return await work(...servers)
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}
