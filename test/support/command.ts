import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { nodeEnvironment } from './node-environment.ts'

const root = join(import.meta.dirname, '..', '..')

export interface CommandEnd {
  code: number | NodeJS.Signals | null
  out: string
  err: string
}

/** An operator's command as `npm run` runs it. `options`: of Node's. */
export function runCommand(
  name: string,
  parameters: string[],
  settings: Record<string, string>,
  options: string[] = [],
): Promise<CommandEnd> {
  const script = [...options, `server/cli/${name}.ts`, ...parameters]
  const child = spawn(process.execPath, script, { cwd: root, env: { ...nodeEnvironment, ...settings } })
  onTestFinished(() => void child.kill('SIGKILL'))
  const end = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    end.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    end.err += chunk
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code: code ?? signal, ...end }))
  })
}
