import { randomBytes, randomUUID } from 'node:crypto'
import { startFakeVault } from '../../support/fake-vault.ts'
import type { KeyFaults } from '../../support/key-faults.ts'
import { type Exchange, startFront } from '../front.ts'
import { callBao } from '../openbao.ts'
import { type KeyServers, type KeyStage, standstill, troubleMaker } from '../stage.ts'

/** OpenBao, or the stand-in of the tests, behind a front. The service signs itself, so a spoilt answer is another secret. */
export async function startVault({ openbao }: KeyServers): Promise<KeyStage> {
  const fake = openbao ? undefined : await startFakeVault()
  const front = await startFront((openbao ?? fake)?.url ?? '', {
    throttled: { status: 429, body: { errors: ['request path "secret/data/*": rate limit quota exceeded'] } },
    spoil: respell,
  })
  const set = troubleMaker(
    front.faults,
    openbao ? standstill(openbao.pid) : { begin: () => front.stop(), end: () => front.start() },
  )
  return {
    environment: {},
    keeps_key: true,
    async signer() {
      const path = `relayers/${randomUUID()}`
      const key = randomBytes(32).toString('hex')
      if (openbao) await callBao('POST', `secret/data/${path}`, { data: { key } }, openbao)
      if (fake) fake.secrets[path] = { key }
      const token = openbao?.token ?? fake?.token ?? ''
      return { type: 'vault', config: { url: front.url, path, token } }
    },
    set,
    async stop() {
      await set(undefined)
      await front.stop()
      await fake?.stop()
    },
  }
}

function respell({ path, answer }: Exchange, signature: KeyFaults['signature']): string {
  if ((signature !== 'garbage' && signature !== 'other_key') || !path.startsWith('/v1/secret/data/')) return answer
  const said = JSON.parse(answer)
  said.data.data.key = signature === 'garbage' ? 'garbage' : '07'.repeat(32)
  return JSON.stringify(said)
}
