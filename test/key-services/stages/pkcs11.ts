import { execFileSync } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createSoftHsm, pin, softhsmModule } from '../softhsm.ts'
import { type KeyStage, slowMs, type Trouble, throttledPerSecond, usualMs } from '../stage.ts'

const words: Record<Trouble, string> = {
  stopped: 'stopped',
  throttled: `per_second ${throttledPerSecond}`,
  slow: `delay ${slowMs}`,
  garbage: 'garbage',
  other_key: 'other_key',
  high_s: 'high_s',
  varied: `delay ${usualMs}`,
}

/** A token of SoftHSM, behind a module that misbehaves (pkcs11-front.c, compiled here). */
export async function startPkcs11(): Promise<KeyStage> {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-hsm-'))
  const hsm = createSoftHsm(folder)
  hsm.addKey('other', 'ff')
  const front = compileFront(folder)
  const troubleFile = join(folder, 'trouble')
  let number = 0
  let isOut = false
  return {
    environment: {
      PKCS11_MODULES: front,
      PKCS11_PIN: pin,
      SOFTHSM2_CONF: `${process.env.SOFTHSM2_CONF}`,
      PKCS11_ENVIRONMENT: 'FRONT_MODULE,FRONT_TROUBLE',
      FRONT_MODULE: softhsmModule,
      FRONT_TROUBLE: troubleFile,
    },
    keeps_key: false,
    async signer() {
      number += 1
      const keyLabel = hsm.addKey(`key-${number}`, number.toString(16).padStart(2, '0'))
      return { type: 'pkcs11', config: { token_label: hsm.token_label, key_label: keyLabel } }
    },
    async set(trouble) {
      // At once for a module that reads it at this moment.
      writeFileSync(`${troubleFile}-next`, trouble ? words[trouble] : '')
      renameSync(`${troubleFile}-next`, troubleFile)
      if (isOut === (trouble === 'stopped')) return
      isOut = !isOut
      if (isOut) hsm.remove()
      else hsm.insert()
    },
    stop: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

function compileFront(folder: string): string {
  const front = join(folder, 'front.so')
  const headers = join(dirname(createRequire(import.meta.url).resolve('pkcs11js/package.json')), 'includes')
  const source = join(import.meta.dirname, 'pkcs11-front.c')
  execFileSync('cc', ['-shared', '-fPIC', `-I${headers}`, '-o', front, source, '-ldl', '-lpthread'], { stdio: 'pipe' })
  return front
}
