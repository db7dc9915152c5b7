import { expect, test } from 'vitest'
import { createSigner } from '../../support/resources.ts'
import { startTestService } from '../../support/service.ts'

const long = '12345678901234567890'
const digits = '1'.repeat(64)

/** Bodies in which a number stands where the contract has a text. */
const bodies = [
  ['POST', 'relayers/demo/sign', `{"message":${long}}`],
  ['POST', 'relayers/demo/sign', `{"message":-${long}}`],
  ['POST', 'relayers/demo/sign-typed-data', `{"domain_separator":${digits},"hash_struct_message":"${digits}"}`],
  ['POST', 'relayers/demo/sign-typed-data', `{"domain_separator":"${digits}","hash_struct_message":${digits}}`],
  ['PATCH', 'relayers/demo', `{"name":${long}}`],
  ['POST', 'signers', `{"type":"plain","config":{"key":${digits}}}`],
  ['POST', 'signers', `{"id":${long},"type":"generated"}`],
  ['POST', 'notifications', `{"id":${long},"url":"https://hooks.example.com"}`],
  ['POST', 'notifications', `{"url":"https://hooks.example.com","signing_key":${long}}`],
  ['POST', 'networks', `{"name":${long},"network_type":"evm","chain_id":1,"rpc_urls":["https://rpc.example.com"]}`],
] as const

test('reads an integer beyond 2^53 without loss as an amount, and never as a string', async () => {
  const { raw } = await startTestService()
  for (const [method, path, body] of bodies) {
    const response = await raw(`/api/v1/${path}`, { method, body })
    expect.soft(response.status, `${path} ${body}`).toBe(400)
    await response.body?.cancel()
  }
})

test('refuses an integer above the maximum of its member', async () => {
  const { raw } = await startTestService()
  for (const chainId of ['9007199254740992', '9007199254740993', long, '1e16', `${long}.5`]) {
    const body = `{"name":"n","network_type":"evm","chain_id":${chainId},"rpc_urls":["https://rpc.example.com"]}`
    expect.soft((await raw('/api/v1/networks', { method: 'POST', body })).status, chainId).toBe(400)
  }
})

test('refuses a fraction as an amount, however close to an integer', async () => {
  const { client, raw } = await startTestService()
  const { id } = await createSigner(client)
  for (const amount of ['1.00000000000000000001', '0.99999999999999999999', '9007199254740993.5']) {
    const body = `{"name":"R","network":"local","network_type":"evm","paused":false,"signer_id":"${id}",
      "policies":{"min_balance":${amount}}}`
    expect.soft((await raw('/api/v1/relayers', { method: 'POST', body })).status, amount).toBe(400)
    // An amount that was taken would make the next one a second relayer of its signer.
    for (const { id: taken } of (await client.get('/api/v1/relayers')).data.slice(1)) {
      await client.delete('/api/v1/relayers/{relayer_id}', { path: { relayer_id: taken } })
    }
  }
})
