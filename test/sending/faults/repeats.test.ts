import { Transaction } from 'ethers/transaction'
import { expect, onTestFinished, test } from 'vitest'
import { rawOf } from '../../support/fee-spike.ts'
import { startHeldSigner } from '../../support/held-signer.ts'
import { type Answer, jsonRpcOf } from '../../support/json-rpc.ts'
import type { Account, Rig } from '../../support/rig.ts'
import { testRig } from '../../support/test-rig.ts'

const gwei = 10n ** 9n
const hourMs = 3_600_000
const receiver = `0x${'60'.repeat(20)}`
const relayerPath = '/api/v1/relayers/{relayer_id}'
const transaction = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const hex = (number: number | bigint) => `0x${number.toString(16)}`

/** The status and the body, to the byte. */
async function post(rig: Rig, { relayer_id }: Account, value: string, key: string) {
  const response = await fetch(`${rig.url()}/api/v1/relayers/${relayer_id}/transactions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${rig.api_key}`, 'Content-Type': 'application/json', 'Idempotency-Key': key },
    body: JSON.stringify({ to: receiver, value, gas_limit: 21_000 }),
  })
  return { status: response.status, text: await response.text() }
}

const received = async ({ chain }: Rig) => BigInt(await chain.rpc<string>('eth_getBalance', [receiver, 'latest']))
const replace = ({ client }: Rig, { relayer_id }: Account, transactionId: string, value: string) =>
  client().put(transaction, {
    path: { relayer_id, transaction_id: transactionId },
    body: { to: receiver, value, gas_limit: 21_000 },
  })

/** Deletes the relayer, and creates it again with its id and its key. */
async function recreate({ client }: Rig, { relayer_id }: Account) {
  const path = { relayer_id }
  const { data: relayer } = await client().get(relayerPath, { path })
  const { id, name, network, signer_id } = relayer
  await client().delete(relayerPath, { path })
  const body = { id, name, network, network_type: 'evm', paused: false, signer_id } as const
  await client().post('/api/v1/relayers', { body })
}

test('M2: a repetition gets the first response after its relayer was deleted and created again', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  const first = await post(rig, account, '31', 'order')
  expect(first.status).toBe(201)
  await account.finished(rig.chain.mine)
  await recreate(rig, account)
  expect(await post(rig, account, '31', 'order')).toEqual(first)
  expect(await post(rig, account, '32', 'order')).toMatchObject({ status: 422 })
  await account.finished(rig.chain.mine)
  expect(await received(rig)).toBe(31n)
})

test('M2: a repetition through JSON-RPC sends nothing after its relayer was deleted and created again', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  const rpc = jsonRpcOf(rig.url(), rig.api_key, account.relayer_id)
  const call = { to: receiver, value: '0x21', gas: '0x5208' }
  const send = () => rpc.call('eth_sendTransaction', [call], { 'Idempotency-Key': 'order' })
  const first = await send()
  expect(first.result).toMatch(/^0x/)
  await account.finished(rig.chain.mine)
  await recreate(rig, account)
  // The row is not the new relayer's. Any other code makes a library send again.
  const { result, error } = await send()
  expect(result ?? error.code).toBe(result ? first.result : -32_002)
  await account.finished(rig.chain.mine)
  expect(await received(rig)).toBe(0x21n)
})

// Hours by which the clock is ahead when the request is accepted, and at each later start with the hours that have really passed.
test.each<[string, number, [ahead_h: number, passed_h: number][]]>([
  ['jumps 400 days ahead', 0, [[9_600, 1]]],
  ['was 400 days behind when the request was accepted', -9_600, [[0, 1]]],
  ['was 400 days ahead when the request was accepted', 9_600, [[0, 1]]],
])('an idempotency key that is kept for a day survives a clock that %s', async (_, acceptedAheadH, starts) => {
  const rig = await testRig({ chain: { noMining: true }, settings: { RETENTION_DAYS_IDEMPOTENCY: '1' } })
  const account = await rig.addAccount()
  await rig.restart(() => setClock(rig, acceptedAheadH, 0))
  const first = await post(rig, account, '33', 'order')
  expect(first.status).toBe(201)
  await account.finished(rig.chain.mine)
  for (const [aheadH, passedH] of starts) {
    // What is old is removed at the start.
    await rig.restart(() => setClock(rig, aheadH, passedH))
    await account.send(1)
    await account.finished(rig.chain.mine)
    expect(await post(rig, account, '33', 'order')).toEqual(first)
  }
  expect(await received(rig)).toBe(33n)
})

function setClock({ clock }: Rig, aheadH: number, passedH: number): void {
  clock.ahead_ms = aheadH * hourMs
  clock.passed_ms += passedH * hourMs
}

test('a JSON-RPC caller never gets the hash of a content that replaced its own', async () => {
  const signer = await startHeldSigner()
  onTestFinished(signer.stop)
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount({ signer: signer.request })
  const rpc = jsonRpcOf(rig.url(), rig.api_key, account.relayer_id)
  const call = { to: receiver, value: '0x21', gas: '0x5208' }
  const send = () => rpc.call('eth_sendTransaction', [call], { 'Idempotency-Key': 'order' })
  signer.hold()
  const { error } = await send()
  expect(error).toMatchObject({ code: -32_002, data: { status: 'pending' } })
  await replace(rig, account, error.data.transaction_id, '34')
  signer.release()
  await account.finished(rig.chain.mine)
  expect(await received(rig)).toBe(34n)
  await expectNoOther(rig, await send(), 0x21n, error.data.transaction_id)
})

test('a JSON-RPC caller that replaces a transaction never gets the hash of a later replacement', async () => {
  const signer = await startHeldSigner()
  onTestFinished(signer.stop)
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount({ signer: signer.request })
  const rpc = jsonRpcOf(rig.url(), rig.api_key, account.relayer_id)
  const call = (value: string, times: bigint) =>
    rpc.call('eth_sendTransaction', [
      {
        ...{ to: receiver, value, gas: '0x5208', nonce: '0x0' },
        ...{ maxFeePerGas: hex(times * 10n * gwei), maxPriorityFeePerGas: hex(times * gwei) },
      },
    ])
  await call('0x1', 1n)
  const [{ id = '' } = {}] = await account.transactions()
  signer.hold()
  const replacement = call('0x23', 2n)
  await signer.held(1)
  await replace(rig, account, id, '36')
  signer.release()
  const answer = await replacement
  await account.finished(rig.chain.mine)
  await expectNoOther(rig, answer, 0x23n, id)
})

/** The answer is a hash of signed bytes with this value, or an error after which no library sends again. */
async function expectNoOther(rig: Rig, { result, error }: Answer, value: bigint, transactionId: string) {
  if (error)
    expect(error).toMatchObject({ code: expect.toBeOneOf([-32_002, -32_003]), data: { transaction_id: transactionId } })
  else expect(Transaction.from(await rawOf(rig, result)).value).toBe(value)
}
