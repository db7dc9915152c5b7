import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { checkAudit } from '../../server/store/sqlite/audit.ts'
import { nodeFlags } from '../bench/node-flags.ts'
import { nodeEnvironment } from '../support/node-environment.ts'

// The service under strace, which makes a system call fail as the kernel would: every acknowledged change must be on the disk.

/** `full`: writes fail for a while, from the position-th on. `sync`: the position-th fsync fails, once. */
export type DiskFault = 'full' | 'sync'

export interface Trial {
  fault: DiskFault
  position: number
  /** Acknowledged changes that are missing, refused changes that are present, and damage of the file. Empty without failures. */
  wrong: string[]
  acknowledged: number
  /** Answered with a failure that says that nothing was done. */
  refused: number
  /** Answered with 503 without Retry-After: done or not. */
  unknown: number
  /** Whether it came to serve at all. */
  started: boolean
  /** Its exit code, when it ended by itself. */
  exit: number | undefined
}

/** The ids that were refused, each with the answer. */
type Refused = Map<string, string>

export const hasStrace = spawnSync('strace', ['--version']).status === 0

const root = join(import.meta.dirname, '..', '..')
const writes = 'pwrite64'
const syncs = 'fsync,fdatasync'
/** Of the database and its log. SQLite syncs the folder too when it makes the log, and does not look at what becomes of that. */
const filesIn = (folder: string) =>
  ['relayer.sqlite', 'relayer.sqlite-wal'].flatMap((name) => ['-P', join(folder, name)])
/** How many writes fail one after the other: the disk has room again then. */
const fullWrites = 12
const posts = 40
const atOnce = 4
const patienceMs = 20_000
/** What main.ts says of a disk that failed (EX_IOERR). */
export const exitIo = 74
const apiKey = 'a-token-of-the-disk-test-and-no-other'

/** A data folder as a first start leaves it; how many writes and syncs a run of the posts takes. */
export async function prepareDisk(): Promise<{ folder: string; calls: Record<DiskFault, number> }> {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-disk-'))
  const first = await start(folder, [])
  await first.stop()
  const counted = mkdtempSync(join(tmpdir(), 'relayer-disk-'))
  cpSync(folder, counted, { recursive: true })
  const trace = join(counted, 'trace')
  const tracing = ['-e', `trace=${writes},${syncs}`, ...filesIn(counted), '-o', trace]
  const service = await start(counted, ['strace', '-D', '-f', '-qq', ...tracing])
  await exercise(service)
  await service.stop()
  const lines = readFileSync(trace, 'utf8').split('\n')
  const calls = {
    full: lines.filter((line) => line.includes('pwrite64(')).length,
    sync: lines.filter((line) => /f(?:data)?sync\(/.test(line)).length,
  }
  rmSync(counted, { recursive: true })
  return { folder, calls }
}

export async function tryDisk(prepared: string, fault: DiskFault, position: number): Promise<Trial> {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-disk-'))
  cpSync(prepared, folder, { recursive: true })
  const injection =
    fault === 'full'
      ? ['-e', `trace=${writes}`, '-e', `inject=${writes}:error=ENOSPC:when=${position}..${position + fullWrites - 1}`]
      : ['-e', `trace=${syncs}`, '-e', `inject=${syncs}:error=EIO:when=${position}`]
  const command = ['strace', '-D', '-f', '-qq', '--seccomp-bpf', ...injection, ...filesIn(folder), '-o', '/dev/null']
  try {
    const service = await start(folder, command).catch((error: StartError) => error)
    if (service instanceof StartError) {
      return {
        fault,
        position,
        wrong: faultsIn(folder, [], new Map()),
        acknowledged: 0,
        refused: 0,
        unknown: 0,
        started: false,
        exit: service.code,
      }
    }
    // A sync fails sooner or later, however the posts are grouped into commits.
    const { done, refused, unknown } = await exercise(service, () => fault === 'sync' && service.isRunning())
    const wrong: string[] = []
    if (fault === 'full' && unknown > 0) wrong.push(`${unknown} answers do not say that nothing was done`)
    if (fault === 'full' && !(await service.takesAgain())) wrong.push('takes nothing more when there is room again')
    const exit = fault === 'sync' ? await service.endsByItself() : undefined
    await service.stop()
    return {
      fault,
      position,
      started: true,
      exit,
      acknowledged: done.length,
      refused: refused.size,
      unknown,
      wrong: [...wrong, ...faultsIn(folder, done, refused)],
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Checks that the file is intact and has all acknowledged changes and no refused ones. */
function faultsIn(folder: string, done: string[], refused: Refused): string[] {
  const db = new Database(join(folder, 'relayer.sqlite'))
  const has = db.prepare<[string], { row_id: number }>('SELECT row_id FROM notifications WHERE id = ?')
  const wrong = [
    ...done.filter((id) => !has.get(id)).map((id) => `${id} was acknowledged and is lost`),
    ...[...refused]
      .map(([id, answer]) => ({ id, answer, row: has.get(id) }))
      .filter(({ row }) => row)
      .map(({ id, answer, row }) => `${id} was refused and is there as row ${row?.row_id}: ${answer}`),
  ]
  const integrity = db.pragma('integrity_check', { simple: true })
  if (integrity !== 'ok') wrong.push(`integrity_check: ${integrity}`)
  const { fault } = checkAudit(db)
  if (fault !== undefined) wrong.push(`audit: ${fault}`)
  db.close()
  return wrong
}

/**
 * Posts notifications and signs, some at once: at least `posts`, and on while `goesOn` says so. Tells the ids that were acknowledged, and
 * those that were refused by an answer, and how many answers leave the outcome open.
 */
async function exercise(service: Running, goesOn = () => false) {
  const done: string[] = []
  const refused: Refused = new Map()
  let unknown = 0
  const end = performance.now() + patienceMs
  let begun = 0
  const work = async () => {
    while (begun < posts || (goesOn() && performance.now() < end)) {
      const id = `n${begun}`
      begun += 1
      const answer = await service.post('/api/v1/notifications', { id, url: 'http://127.0.0.1:1' })
      if (answer?.status === 201) done.push(id)
      else if (answer?.status === 503 && !answer.retry_after) unknown += 1
      else if (answer) refused.set(id, `${answer.status} ${answer.text}`)
      await service.post('/api/v1/relayers/demo/sign', { message: id })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return { done, refused, unknown }
}

class StartError extends Error {
  readonly code: number | undefined
  constructor(code: number | undefined, out: string) {
    super(`The service did not start: ${out}`)
    this.code = code
  }
}

type Running = Awaited<ReturnType<typeof start>>

async function start(folder: string, wrapper: string[]) {
  const [command = '', ...parameters] = [...wrapper, process.execPath, ...nodeFlags, 'server/main.ts']
  const env = { ...nodeEnvironment, PORT: '0', DATA_DIR: folder, API_KEY: apiKey, LOG_LEVEL: 'error' }
  const child: ChildProcess = spawn(command, parameters, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  let out = ''
  child.stderr?.on('data', (chunk) => {
    out += chunk
  })
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (chunk) => {
      out += chunk
      const [, found] = /API\s+(http:\/\/[^\s/]+)\/api\/v1\n/.exec(out) ?? []
      if (found) resolve(found)
    })
    ended.then(([code]) => reject(new StartError(code ?? undefined, out)))
  })
  const post = async (path: string, body: object) => {
    const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' }
    try {
      const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      return { status: answer.status, text: await answer.text(), retry_after: answer.headers.get('Retry-After') }
    } catch {
      return undefined
    }
  }

  return {
    post,
    isRunning: () => child.exitCode === null,
    async takesAgain(): Promise<boolean> {
      const end = performance.now() + patienceMs
      for (let index = 0; performance.now() < end; index += 1) {
        const answer = await post('/api/v1/notifications', { id: `again${index}`, url: 'http://127.0.0.1:1' })
        if (answer?.status === 201) return true
        await pause(50)
      }
      return false
    },
    async endsByItself(): Promise<number | undefined> {
      const code = await Promise.race([ended, pause(patienceMs, [undefined], { ref: false })])
      return code[0] ?? undefined
    },
    async stop(): Promise<void> {
      if (child.exitCode === null) child.kill('SIGTERM')
      await ended
    },
  }
}
