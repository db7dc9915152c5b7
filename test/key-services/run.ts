import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './free-port.ts'

// `npm run test:keys`: signers against implementations of the key services that others wrote. Installs `ministack` (Python, from
// PyPI) into a folder for temporary files, starts it, and runs *.keys.ts here. KEY_TOOLS: another folder, kept between runs.

const ministack_version = '1.5.33'
const patience_ms = 60_000

const folder = process.env.KEY_TOOLS ?? join(tmpdir(), 'relayer-key-tools')
const python = join(folder, 'bin', 'python')
if (!existsSync(join(folder, 'bin', 'ministack'))) {
  execFileSync('python3', ['-m', 'venv', folder], { stdio: 'inherit' })
  const packages = [`ministack==${ministack_version}`, 'cryptography']
  execFileSync(python, ['-m', 'pip', 'install', '--quiet', ...packages], { stdio: 'inherit' })
}

const port = await freePort()
const { PATH = '' } = process.env
const ministack = spawn(join(folder, 'bin', 'ministack'), {
  // It listens on every address unless told otherwise.
  env: { PATH, BIND_HOST: '127.0.0.1', GATEWAY_PORT: `${port}`, SERVICES: 'kms', IOT_MTLS_ENABLED: '0' },
  stdio: 'ignore',
})
const url = `http://127.0.0.1:${port}`
try {
  const end = performance.now() + patience_ms
  while (!(await fetch(url).catch(() => undefined))) {
    if (performance.now() > end || ministack.exitCode !== null) throw new Error('ministack does not start')
    await pause(100)
  }
  const { status } = spawnSync('vitest', ['run', '--config', join(import.meta.dirname, 'vitest.config.ts')], {
    stdio: 'inherit',
    env: { ...process.env, KEY_KMS_URL: url, KEY_KMS_PID: `${ministack.pid}` },
  })
  process.exitCode = status ?? 1
} finally {
  ministack.kill('SIGCONT')
  ministack.kill('SIGKILL')
}
