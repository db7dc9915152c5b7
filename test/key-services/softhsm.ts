import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The module of Debian's package softhsm2. SOFTHSM2_MODULE: another place. */
export const softhsmModule = process.env.SOFTHSM2_MODULE ?? '/usr/lib/softhsm/libsofthsm2.so'
export const pin = 'pin-of-the-test-648219'

export interface SoftHsm {
  token_label: string
  /** Creates a key pair and returns its label. */
  addKey(label: string, id: string, type?: 'EC:secp256k1' | 'EC:prime256v1'): string
  /** As if the token were pulled out: a process that starts afterwards does not find it. */
  remove(): void
  insert(): void
}

/** A token of SoftHSM in a folder, with its configuration in SOFTHSM2_CONF of this process. */
export function createSoftHsm(folder: string, tokenLabel = 'relayers'): SoftHsm {
  if (!existsSync(softhsmModule))
    throw new Error('softhsm2 and opensc must be installed: apt-get install softhsm2 opensc')
  const tokens = join(folder, 'tokens')
  mkdirSync(tokens)
  const file = join(folder, 'softhsm2.conf')
  writeFileSync(file, `directories.tokendir = ${tokens}\nobjectstore.backend = file\nlog.level = ERROR\n`)
  process.env.SOFTHSM2_CONF = file
  // As root, the service gives the module's process to `nobody`.
  const own = () => process.getuid?.() === 0 && execFileSync('chown', ['-R', '65534:65534', folder])
  const run = (program: string, words: string[]) => {
    execFileSync(program, words, { stdio: 'pipe' })
    own()
  }
  run('softhsm2-util', ['--init-token', '--free', '--label', tokenLabel, '--so-pin', '12345678', '--pin', pin])
  return {
    token_label: tokenLabel,
    addKey(label, id, type = 'EC:secp256k1') {
      const at = ['--module', softhsmModule, '--token-label', tokenLabel, '--login', '--pin', pin]
      run('pkcs11-tool', [...at, '--keypairgen', '--key-type', type, '--label', label, '--id', id])
      return label
    },
    remove: () => renameSync(tokens, `${tokens}-out`),
    insert() {
      rmSync(tokens, { recursive: true, force: true })
      renameSync(`${tokens}-out`, tokens)
    },
  }
}
