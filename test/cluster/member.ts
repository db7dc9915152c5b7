import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Seed } from '../crash/seeded-faults.ts'
import { freePort } from '../crash/victim.ts'
import { nodeEnvironment } from '../support/node-environment.ts'

/** One of several servers: a separate process, which is started again when it ends, as by a supervisor. */
export interface Member {
  url: string
  /** The output of all its processes. */
  logFile: string
  pid(): number | undefined
  start(): Promise<void>
  /** Resolves when it answers /ready. */
  ready(): Promise<void>
  /** kill -9, and a new process at once. Resolves when the old one is gone. */
  kill(): Promise<void>
  /** As a stalled machine: SIGSTOP, and SIGCONT after the time. */
  stall(ms: number): Promise<void>
  /** By unexpected end: its last output. */
  ends(): string[]
  stop(): Promise<void>
}

export const token = 'a-token-of-the-cluster-test-and-no-other'

const root = join(import.meta.dirname, '..', '..')
const lookMs = 20
/** A supervisor's pause. */
const restartMs = 300
const maxQuoted = 20_000

export async function createMember(
  folder: string,
  databaseUrl: string,
  fault: Seed[] | undefined,
  settings: Record<string, string> = {},
): Promise<Member> {
  mkdirSync(folder, { recursive: true })
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const logFile = join(folder, 'server.log')
  const ends: string[] = []
  let child: ChildProcess | undefined
  let isStopping = false

  const env = {
    ...nodeEnvironment,
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: `${port}`,
    DATA_DIR: folder,
    DATABASE_URL: databaseUrl,
    API_KEY: token,
    MASTER_KEY: '5a'.repeat(32),
    ALLOW_PRIVATE_TARGETS: 'true',
    LOG_LEVEL: 'warn',
    RATE_LIMIT_PER_SECOND: '100000',
    RATE_LIMIT_BURST: '100000',
    ...(fault && { CRASH_FAULT: JSON.stringify(fault) }),
    ...settings,
    // As under `npm start`, it ends when this process has ended in any way.
    npm_lifecycle_event: 'start',
  }
  const faults = fault ? ['--import', join(root, 'test', 'crash', 'faults.ts')] : []

  async function start(): Promise<void> {
    const log = openSync(logFile, 'a')
    try {
      const from = fstatSync(log).size
      const its = spawn(process.execPath, [...faults, join(root, 'server', 'main.ts')], {
        cwd: folder,
        env,
        stdio: ['ignore', log, log],
      })
      child = its
      its.once('exit', (code, signal) => {
        if (isStopping || signal === 'SIGKILL') return
        ends.push(`${signal ?? code}: ${readFileSync(logFile).subarray(from).toString().slice(-maxQuoted)}`)
        // Unless a kill has started another one in the meantime.
        setTimeout(() => isStopping || child !== its || void start(), restartMs)
      })
      await once(its, 'spawn')
    } finally {
      closeSync(log)
    }
  }

  async function kill(): Promise<void> {
    const its = child
    if (!its || its.exitCode !== null || its.signalCode !== null) return
    const gone = once(its, 'exit')
    its.kill('SIGKILL')
    await gone
  }

  return {
    url,
    logFile,
    pid: () => child?.pid,
    start,
    async ready() {
      while (!isStopping) {
        const answer = await fetch(`${url}/api/v1/ready`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
        await answer?.body?.cancel()
        if (answer?.ok) return
        await pause(lookMs)
      }
    },
    async kill() {
      await kill()
      if (!isStopping) await start()
    },
    async stall(ms) {
      const its = child
      its?.kill('SIGSTOP')
      await pause(ms)
      its?.kill('SIGCONT')
    },
    ends: () => ends,
    async stop() {
      isStopping = true
      await kill()
    },
  }
}
