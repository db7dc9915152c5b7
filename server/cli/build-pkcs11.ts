import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/*
 * Compiles the optional package `pkcs11js`, for signers in PKCS #11 tokens. `npm ci` does not: it would fail without a compiler, and
 * without the network it would wait for Node's headers. They are taken from the installation of Node where it has them.
 */

const folder = join(import.meta.dirname, '..', '..', 'node_modules', 'pkcs11js')
const node = dirname(dirname(process.execPath))
const headers = existsSync(join(node, 'include', 'node', 'node_api.h')) ? ['--nodedir', node] : []

if (!existsSync(folder)) {
  process.stderr.write('pkcs11js is not installed: run npm install --save-optional pkcs11js\n')
  process.exitCode = 1
} else {
  // npm puts its own node-gyp on the PATH of scripts.
  const { status, error } = spawnSync('node-gyp', ['rebuild', ...headers], { cwd: folder, stdio: 'inherit' })
  if (status !== 0)
    process.stderr.write(
      `pkcs11js cannot be compiled: it needs Python, make and a C++ compiler. ${error?.message ?? ''}\n`,
    )
  process.exitCode = status ?? 1
}
