import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { nodeEnvironment } from './node-environment.ts'

const root = join(import.meta.dirname, '..', '..')

export interface ServiceProcess {
  pid: number
  /** All that it has written so far. */
  out(): string
  err(): string
  /** Waits until the output matches; throws when the process ends before. */
  wrote(pattern: RegExp): Promise<RegExpExecArray>
  signal(signal: NodeJS.Signals): void
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals | null>
}

/** The service as `npm start` runs it, in a separate process, on a free port unless `settings` name one. */
export function spawnService(settings: Record<string, string>): ServiceProcess {
  const env = { ...nodeEnvironment, PORT: '0', ...settings }
  const child = spawn(process.execPath, ['server/main.ts'], { cwd: root, env })
  onTestFinished(() => void child.kill('SIGKILL'))
  const written = { out: '', err: '' }
  const listeners = new Set<() => void>()
  const collect = (name: keyof typeof written) => (chunk: Buffer) => {
    written[name] += chunk.toString('utf8')
    for (const listen of listeners) listen()
  }
  child.stdout.on('data', collect('out'))
  child.stderr.on('data', collect('err'))
  const ended = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve(code ?? signal))
  })

  return {
    pid: child.pid as number,
    out: () => written.out,
    err: () => written.err,
    wrote: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(written.out)
          if (found) resolve(found)
        }
        listeners.add(look)
        look()
        ended.then((code) => reject(new Error(`It ended with ${code}: ${written.out}${written.err}`)), reject)
      }),
    signal: (signal) => void child.kill(signal),
    ended,
  }
}
