import { execFileSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { softhsmModule } from './softhsm.ts'

/** SoftHSM behind a module that writes down the calls that it gets, and the environment that it sees. */
export function compileWatchedModule(folder: string, { locks }: { locks: boolean }) {
  const name = locks ? 'watched' : 'watched-without-locks'
  const module = join(folder, `${name}.so`)
  const calls = join(folder, `${name}.calls`)
  writeFileSync(calls, '')
  // Under root the token's process runs as another user.
  chmodSync(calls, 0o666)
  const source = join(import.meta.dirname, 'watched-module.c')
  const names = [`-DMODULE="${softhsmModule}"`, `-DCALLS="${calls}"`, ...(locks ? [] : ['-DREFUSES_LOCKING'])]
  execFileSync('cc', ['-shared', '-fPIC', '-O1', ...names, '-o', module, source, '-ldl'], { stdio: 'pipe' })
  return { module, calls: () => readFileSync(calls, 'utf8').split('\n').filter(Boolean) }
}
