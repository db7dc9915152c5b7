import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { nodeEnvironment } from './node-environment.ts'

const program = join(import.meta.dirname, '..', '..', 'client', 'cli', 'main.ts')

export interface RunningCommand {
  out(): string
  err(): string
  kill(): void
  /** Closes the reading end of its standard output, as `head` does. */
  closeOut(): void
  ended: Promise<{ code: number | NodeJS.Signals | null; out: string; err: string }>
}

export interface Connection {
  url: string
  api_key: string
}

/** Runs `relayer` with these arguments in a separate process. `input`: its standard input. */
export function startRelayerCommand(
  { url, api_key }: Connection,
  parameters: string[],
  { input = '', env = {} }: { input?: string; env?: Record<string, string> } = {},
): RunningCommand {
  const settings = { ...nodeEnvironment, RELAYER_URL: url, RELAYER_API_KEY: api_key, ...env }
  const child = spawn(process.execPath, [program, ...parameters], { env: settings })
  onTestFinished(() => void child.kill('SIGKILL'))
  const written = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    written.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    written.err += chunk
  })
  // A command that ends early does not read it.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const ended = new Promise<Awaited<RunningCommand['ended']>>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code: code ?? signal, ...written }))
  })
  return {
    out: () => written.out,
    err: () => written.err,
    kill: () => void child.kill(),
    closeOut: () => void child.stdout.destroy(),
    ended,
  }
}

/** Runs `relayer` commands to their end. */
export function relayerCommand(connection: Connection) {
  const run = (parameters: string[], input = '') => startRelayerCommand(connection, parameters, { input }).ended
  return {
    run,
    /** Adds --json. Resolves to the parsed output, and throws when the command fails. */
    async json<T>(parameters: string[], input = ''): Promise<T> {
      const { code, out, err } = await run([...parameters, '--json'], input)
      if (code !== 0) throw new Error(`relayer ${parameters.join(' ')} ended with ${code}: ${err}`)
      return JSON.parse(out) as T
    },
  }
}
