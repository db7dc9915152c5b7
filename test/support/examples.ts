import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { nodeEnvironment } from './node-environment.ts'

const root = join(import.meta.dirname, '..', '..')
const client = '@evm-relayer-service/client'

/**
 * A project of somebody else's: the examples, the client's package as it is built, and these packages of this repository. Removed by
 * `remove`.
 */
export async function exampleProject(packages: string[]): Promise<{ folder: string; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-examples-'))
  const installed = join(folder, 'node_modules', client)
  mkdirSync(installed, { recursive: true })
  cpSync(join(root, 'client', 'examples'), folder, { recursive: true })
  cpSync(join(root, 'client', 'package.json'), join(installed, 'package.json'))
  // Builds into a separate folder, because another test builds the package in place.
  // `npm run check` and test/client/client-package.test.ts check the types.
  const build = [
    '--project',
    join(root, 'client'),
    '--outDir',
    join(installed, 'dist'),
    '--noCheck',
    '--declaration',
    'false',
  ]
  await promisify(execFile)(join(root, 'node_modules', '.bin', 'tsc'), build, { cwd: root })
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  for (const name of [...Object.keys(dependencies), ...packages]) {
    const place = join(folder, 'node_modules', name)
    mkdirSync(dirname(place), { recursive: true })
    if (!existsSync(place)) symlinkSync(join(root, 'node_modules', name), place)
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Resolves to the output of an example. When it fails, throws an error with its output. */
export async function runExample(
  folder: string,
  program: string,
  parameters: string[],
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const { HOME = '' } = process.env
  const options = { cwd: folder, env: { ...nodeEnvironment, HOME, ...env }, timeout: 300_000 }
  try {
    return (await promisify(execFile)(program, parameters, options)).stdout
  } catch (error) {
    const { message, stdout, stderr } = error as { message: string; stdout?: string; stderr?: string }
    throw new Error([message, stdout, stderr].join('\n'), { cause: error })
  }
}

/** Starts an example that runs until the test ends. `printed`: its output so far. */
export function startExample(folder: string, file: string, env: Record<string, string>) {
  const child: ChildProcess = spawn(process.execPath, [file], { cwd: folder, env: { ...nodeEnvironment, ...env } })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout?.on('data', (chunk) => {
    printed += chunk
  })
  child.stderr?.on('data', (chunk) => {
    printed += chunk
  })
  return { printed: () => printed }
}
