import { randomUUID } from 'node:crypto'
import { Transaction } from 'ethers'
import { expect } from 'vitest'
import type { CreateSignerRequest, UpdateRelayerRequest } from '../../client/index.ts'
import { createRelayer } from './resources.ts'
import type { TestService } from './service.ts'

const receiver = `0x${'12'.repeat(20)}`
const stranger = `0x${'34'.repeat(20)}`
const domain = { name: 'Test', chainId: 31_337 }
const mail = {
  domain,
  types: { Mail: [{ name: 'text', type: 'string' }] },
  primaryType: 'Mail',
  message: { text: 'Hi' },
}
const hashes = { domain_separator: `0x${'ab'.repeat(32)}`, hash_struct_message: `0x${'cd'.repeat(32)}` }
const priced = { type: 2, gasLimit: 21_000, maxFeePerGas: 1_000_000_000n, maxPriorityFeePerGas: 1n, value: 1_000n }
const unsignedTransaction = Transaction.from({ ...priced, to: receiver, chainId: 31_337, nonce: 0 }).unsignedSerialized

/** Requests that need a signature by this address: the end of the path under the relayer, and the body. */
const requestsOf = (address: string) =>
  ({
    message: ['sign', { message: 'Hello' }],
    batch: ['sign/batch', { items: [{ message: 'Hello' }, hashes] }],
    hashed: ['sign-typed-data', hashes],
    typed: ['sign-typed-data/full', mail],
    transaction: ['sign-transaction', { unsigned_transaction: unsignedTransaction }],
    authorization: ['sign-authorization', { address: stranger, nonce: 0 }],
    sent: ['transactions', { to: receiver, value: '1000', speed: 'fast' }],
    personal_sign: ['rpc', { jsonrpc: '2.0', id: 1, method: 'personal_sign', params: ['0x48', address] }],
  }) as const

type Name = keyof ReturnType<typeof requestsOf>
const all = Object.keys(requestsOf('')) as Name[]

/** What refuses which requests. */
const refusals: [UpdateRelayerRequest, Name[]][] = [
  [{ policies: { allow_messages: false } }, ['message', 'batch', 'personal_sign']],
  [{ policies: { allow_blind_typed_data: false } }, ['hashed', 'batch']],
  [{ policies: { allowed_domain_separators: [`0x${'ef'.repeat(32)}`] } }, ['typed', 'hashed', 'batch']],
  [{ policies: { allow_sign_transaction: false } }, ['transaction']],
  [{ policies: { allow_authorizations: false } }, ['authorization']],
  [{ policies: { allow_transactions: false } }, ['sent']],
  [{ policies: { whitelist_receivers: [stranger] } }, ['transaction', 'sent']],
  [{ policies: { allowed_functions: [{ address: receiver, selectors: ['0x12345678'] }] } }, ['transaction', 'sent']],
  [{ policies: { max_value: '1' } }, ['transaction', 'sent']],
  [{ policies: { max_value_per_day: '1' } }, ['transaction']],
  [{ policies: { gas_price_cap: '1' } }, ['transaction']],
  [{ policies: { max_fee_per_transaction: '1' } }, ['transaction']],
  [{ policies: { max_fee_per_day: '1' } }, ['transaction']],
  [{ paused: true }, all],
]

/** As before the refusal. */
function undone({ policies = {}, paused }: UpdateRelayerRequest): UpdateRelayerRequest {
  const none = Object.fromEntries(Object.keys(policies ?? {}).map((name) => [name, null]))
  return { policies: none, ...(paused !== undefined && { paused: false }) }
}

/**
 * Everything that refuses a signature (policy, limit, pause, scope, rate, an invalid request), tried with a relayer whose key is in a
 * key service. `calls`: how many requests the key service has received. None of them reaches it, and a permitted one does. The clock of
 * the service must stand still, so that an empty bucket of the rate limit stays empty.
 */
export async function expectNothingReaches(
  { client, raw }: TestService,
  signer: CreateSignerRequest,
  calls: () => number,
): Promise<void> {
  const { data } = await client.post('/api/v1/signers', { body: signer })
  const { id, address } = await createRelayer(client, { signer_id: data.id })
  const requests = requestsOf(address)
  const path = { relayer_id: id }
  const before = calls()

  const send = (name: Name, token?: string | null, body: unknown = requests[name][1], relayer = id) =>
    raw(`/api/v1/relayers/${relayer}/${requests[name][0]}`, {
      method: 'POST',
      body: JSON.stringify(body),
      ...(token !== undefined && {
        headers: { 'Content-Type': 'application/json', ...(token !== null && { Authorization: `Bearer ${token}` }) },
      }),
    })
  /** JSON-RPC answers a refusal with 200 and an error. */
  const expectRefused = async (what: string, response: Response, ...statuses: number[]) => {
    const text = await response.text()
    if (response.status === 200) expect.soft(JSON.parse(text), what).toHaveProperty('error')
    else expect.soft(statuses, `${what}: ${text}`).toContain(response.status)
    expect.soft(calls(), what).toBe(before)
  }

  for (const [refusal, names] of refusals) {
    await client.patch('/api/v1/relayers/{relayer_id}', { path, body: refusal })
    for (const name of names) await expectRefused(`${name}, ${JSON.stringify(refusal)}`, await send(name), 403)
    await client.patch('/api/v1/relayers/{relayer_id}', { path, body: undone(refusal) })
  }
  const keyOf = async (body: object) => {
    const made = await client.post('/api/v1/api-keys', { body: { name: randomUUID(), scopes: ['read'], ...body } })
    return made.data.token
  }
  const reader = await keyOf({})
  const elsewhere = await keyOf({ scopes: ['sign', 'send'], relayer_ids: ['demo'] })
  const slow = await keyOf({ scopes: ['sign', 'send', 'read'], rate_limit: { per_second: 1, burst: 1 } })
  for (const name of all) {
    await expectRefused(`${name} with the scope read`, await send(name, reader), 403)
    await expectRefused(`${name} of another relayer's key`, await send(name, elsewhere), 404)
    await expectRefused(`${name} without a token`, await send(name, null), 401)
    await expectRefused(`${name} with another body`, await send(name, undefined, { unknown: 1 }), 400)
    await expectRefused(`${name} of no relayer`, await send(name, undefined, requests[name][1], 'none'), 404)
    // The rate limit counts refused requests too: this one empties the bucket.
    if (name === all[0]) await send('message', slow, { unknown: 1 })
    await expectRefused(`${name} above the rate`, await send(name, slow), 429)
  }
  const foreign = Transaction.from({ ...priced, to: receiver, chainId: 7 }).unsignedSerialized
  const forOtherChain = { unsigned_transaction: foreign }
  await expectRefused('another chain', await send('transaction', undefined, forOtherChain), 400, 403, 422)
  expect((await send('message')).status).toBe(200)
  expect(calls(), 'a permitted request').toBeGreaterThan(before)
}
