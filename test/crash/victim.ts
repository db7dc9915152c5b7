import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { nodeEnvironment } from '../support/node-environment.ts'
import type { Seed } from './seeded-faults.ts'

/** The service as users run it: a separate process on one data folder, which is killed and started again. */
export interface Victim {
  url: string
  token: string
  database_file: string
  /** Starts a process. There must be none. */
  start(): Promise<void>
  /** Resolves when the process answers /ready. Throws when it ended before. */
  ready(): Promise<void>
  /** kill -9. Resolves when the process has ended. Throws when it had ended before. */
  kill(): Promise<void>
  /** The errors that all its processes have logged. */
  errors(): string[]
}

const root = join(import.meta.dirname, '..', '..')
const lookMs = 10
const errorLevel = 50
const maxQuoted = 2_000

/** `settings`: on top of those of a service in production. */
export async function createVictim(
  folder: string,
  fault: Seed | undefined,
  settings: Record<string, string> = {},
): Promise<Victim> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const token = 'a-token-of-the-crash-test-and-no-other'
  const logFile = join(folder, 'service.log')
  let child: ChildProcess | undefined
  let gone = Promise.withResolvers<void>()

  const environment = {
    ...process.env,
    ...nodeEnvironment,
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: `${port}`,
    DATA_DIR: folder,
    DATABASE_URL: '',
    API_KEY: token,
    MASTER_KEY: '5a'.repeat(32),
    ALLOW_PRIVATE_TARGETS: 'true',
    LOG_LEVEL: 'error',
    ...(fault && { CRASH_FAULT: JSON.stringify(fault) }),
    ...settings,
    // As under `npm start`, it ends when this process has ended in any way.
    npm_lifecycle_event: 'start',
  }
  const faults = fault ? ['--import', join(import.meta.dirname, 'faults.ts')] : []
  const isGone = () => !child || child.exitCode !== null || child.signalCode !== null
  const endedByItself = () =>
    new Error(`The service ended unexpectedly: ${readFileSync(logFile, 'utf8').slice(-maxQuoted)}`)

  return {
    url,
    token,
    database_file: join(folder, 'relayer.sqlite'),
    async start() {
      const log = openSync(logFile, 'a')
      try {
        const stdio = ['ignore', log, log] as const
        child = spawn(process.execPath, [...faults, join(root, 'server', 'main.ts')], {
          cwd: folder,
          env: environment,
          stdio: [...stdio],
        })
        gone = Promise.withResolvers<void>()
        child.once('exit', gone.resolve)
        await once(child, 'spawn')
      } finally {
        closeSync(log)
      }
    },
    async ready() {
      for (;;) {
        if (isGone()) throw endedByItself()
        const answer = await fetch(`${url}/api/v1/ready`).catch(() => undefined)
        await answer?.body?.cancel()
        if (answer?.ok) return
        await pause(lookMs)
      }
    },
    async kill() {
      if (isGone()) throw endedByItself()
      child?.kill('SIGKILL')
      // Until the parent reaps it, its process id exists, and its lease counts as held.
      await gone.promise
    },
    errors: () =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('{') && line.endsWith('}'))
        .map((line) => JSON.parse(line) as LogLine)
        .filter(({ level }) => level >= errorLevel)
        .map(({ msg, err }) => (err ? `${msg}: ${err.message}` : msg)),
  }
}

/** As pino writes it. A line that a kill cut short is none. */
interface LogLine {
  level: number
  msg: string
  err?: { message: string }
}

/**
 * Below the ports that a system gives to outgoing connections: one of those may be taken while the service is down, even by a
 * client of it that happens to connect to itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
      server.close()
      await once(server, 'close')
      return port
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    }
  }
}
