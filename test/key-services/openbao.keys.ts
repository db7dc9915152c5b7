import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { expectEverySignature } from '../support/every-signature.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'
import { bao, callBao } from './openbao.ts'

/** Stores a new key, and returns an AppRole that may read it alone. */
async function createSecret(name: string) {
  await callBao('POST', `secret/data/relayers/${name}`, { data: { key: randomBytes(32).toString('hex') } })
  const policy = `path "secret/data/relayers/${name}" { capabilities = ["read"] }`
  await callBao('PUT', `sys/policies/acl/${name}`, { policy })
  await callBao('POST', 'sys/auth/approle', { type: 'approle' }).catch(() => undefined)
  await callBao('POST', `auth/approle/role/${name}`, { token_policies: name, token_ttl: '10m' })
  const { data: role } = await callBao<{ data: { role_id: string } }>('GET', `auth/approle/role/${name}/role-id`)
  const { data: secret } = await callBao<{ data: { secret_id: string } }>('POST', `auth/approle/role/${name}/secret-id`)
  return { url: bao.url, path: `relayers/${name}`, role_id: role.role_id, secret_id: secret.secret_id }
}

test('signs with a key in OpenBao, by an AppRole or a token, and not under the policy of another key', async () => {
  const service = await startTestService()
  const config = await createSecret('first')
  const other = await createSecret('second')
  const { role_id: _, secret_id: __, ...place } = config
  for (const each of [config, { ...place, token: bao.token }]) {
    const { data } = await service.client.post('/api/v1/signers', { body: { type: 'vault', config: each } })
    await expectEverySignature(service.client, await createRelayer(service.client, { signer_id: data.id }))
    await service.client.delete('/api/v1/relayers/{relayer_id}', {
      path: { relayer_id: (await listed(service))[0] ?? '' },
    })
  }
  for (const [wrong, reason] of [
    [{ ...config, path: other.path }, /403: .*permission denied/s],
    [{ ...config, path: 'relayers/none' }, /403/],
    [{ ...place, path: 'relayers/none', token: bao.token }, /404/],
    [{ ...config, secret_id: 'wrong' }, /400: .*invalid/s],
    [{ ...place, token: 'hvs.wrong' }, /403: .*permission denied/s],
  ] as const) {
    const response = await service.raw('/api/v1/signers', {
      method: 'POST',
      body: JSON.stringify({ type: 'vault', config: wrong }),
    })
    const text = await response.text()
    expect.soft(response.status, text).toBe(422)
    expect.soft(text).toMatch(reason)
  }
})

const listed = async ({ client }: Awaited<ReturnType<typeof startTestService>>) =>
  (await client.get('/api/v1/relayers')).data.map(({ id }) => id).filter((id) => id !== 'demo')
