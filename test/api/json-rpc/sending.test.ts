import { request as open } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Interface } from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import { startHeldSigner } from '../../support/held-signer.ts'
import { type Answer, jsonRpcOf } from '../../support/json-rpc.ts'
import type { Rig, RigOptions } from '../../support/rig.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const to = `0x${'5a'.repeat(20)}`
const gwei = 10n ** 9n
const hex = (number: number | bigint) => `0x${number.toString(16)}`

async function start(options: RigOptions = {}, accountOptions: Parameters<Rig['addAccount']>[0] = {}) {
  const rig = await testRig(options)
  const account = await rig.addAccount(accountOptions)
  const rpc = jsonRpcOf(rig.url(), rig.api_key, account.relayer_id)
  const send = (transaction = {}) =>
    rpc.call('eth_sendTransaction', [{ from: account.address, to, value: '0x1', ...transaction }])
  const count = async () => (await account.transactions()).length
  return { ...rig, account, rpc, send, count }
}

/** With a key service that does not answer yet: what is accepted stays unsigned. */
async function startHeld() {
  const signer = await startHeldSigner()
  onTestFinished(signer.stop)
  const started = await start({}, { signer: signer.request })
  signer.hold()
  return { ...started, signer }
}

const receiptOf = async ({ rpc }: { rpc: { result: (m: string, p: unknown[]) => Promise<Answer> } }, hash: string) => {
  let receipt: Answer
  await until('it is mined', async () => {
    receipt = await rpc.result('eth_getTransactionReceipt', [hash])
    return receipt !== null
  })
  return receipt
}

test('returns the hash of stored bytes from eth_sendTransaction, and the transaction is mined', async () => {
  const rig = await start()
  const { account, rpc, send } = rig
  const { result } = await send()
  const [row] = await account.transactions()
  expect(row).toMatchObject({ hash: result, from: account.address, value: '1' })
  expect(await receiptOf(rig, result)).toMatchObject({ status: '0x1', transactionHash: result })
  expect(await rpc.result('eth_getTransactionCount', [account.address, 'pending'])).toBe('0x1')
})

test('assigns nonces in the order of a batch', async () => {
  const { rpc, account } = await start()
  const { answer } = await rpc.post(
    Array.from({ length: 30 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'eth_sendTransaction',
      params: [{ to, value: hex(id + 1) }],
    })),
  )
  const rows = (await account.transactions()).toReversed()
  expect(rows.map(({ value }) => value)).toEqual(Array.from({ length: 30 }, (_, id) => `${id + 1}`))
  expect(answer.map(({ result }: Answer) => result)).toEqual(rows.map(({ hash }) => hash))
})

test('applies the given gas, prices and type', async () => {
  const { send, rpc } = await start()
  const sent = async (transaction: object) => {
    const { result, error } = await send(transaction)
    expect(error).toBe(undefined)
    return rpc.result<Answer>('eth_getTransactionByHash', [result])
  }
  const prices = { maxFeePerGas: hex(7n * gwei), maxPriorityFeePerGas: hex(2n * gwei) }
  expect(await sent({ gas: '0x7530', ...prices, type: '0x2' })).toMatchObject({ gas: '0x7530', type: '0x2', ...prices })
  expect(await sent({ gasPrice: hex(6n * gwei) })).toMatchObject({ type: '0x0', gasPrice: hex(6n * gwei) })
  const accessList = [{ address: to, storageKeys: [`0x${'00'.repeat(32)}`] }]
  expect(await sent({ accessList })).toMatchObject({ type: '0x2', accessList })
  expect(await sent({ accessList, type: '0x1' })).toMatchObject({ type: '0x1', accessList })
  expect(await sent({ type: '0x0' })).toMatchObject({ type: '0x0' })
  expect(await sent({ input: '0x1234' })).toMatchObject({ input: '0x1234' })
})

test('shows a transaction in a node’s form before any node has it', async () => {
  const { send, rpc, proxy, chain } = await start({ chain: { noMining: true } })
  await proxy.setFault({ kind: 'connection_reset', methods: ['eth_sendRawTransaction'] })
  const accessList = [{ address: to, storageKeys: [`0x${'00'.repeat(31)}ab`] }]
  const hashes = [{ accessList }, { accessList, type: '0x1' }, { type: '0x0' }].map(async (transaction) => {
    const { result } = await send(transaction)
    return result as string
  })
  const inPool = (hash: string) => chain.rpc('eth_getTransactionByHash', [hash])
  const shown: Answer[] = []
  for (const hash of await Promise.all(hashes)) {
    expect(await inPool(hash)).toBe(null)
    shown.push(await rpc.result<Answer>('eth_getTransactionByHash', [hash]))
  }
  await proxy.setFault(undefined)
  // Nodes differ in the gasPrice of a transaction with two fees.
  for (const { gasPrice, ...form } of shown) {
    expect(gasPrice).toMatch(/^0x[1-9a-f]/)
    await until('the node has it', async () => (await inPool(form.hash)) !== null)
    expect(await inPool(form.hash)).toMatchObject(form)
  }
})

const refusals: [string, object, RegExp][] = [
  ['blobs', { blobVersionedHashes: [] }, /EIP-4844/],
  ['a blob type', { type: '0x3' }, /EIP-4844/],
  ['authorizations', { authorizationList: [] }, /EIP-7702/],
  [
    'an access list in a legacy transaction',
    { type: '0x0', accessList: [{ address: to, storageKeys: [] }] },
    /type 0x0/,
  ],
  [
    'an access list of another form',
    { accessList: [{ address: to, storageKeys: ['0x1'] }] },
    /accessList\.0\.storageKeys\.0 must match/,
  ],
  ['an unknown type', { type: '0x7f' }, /type 0x7f/],
  ['an unknown member', { gasLimit: '0x5208' }, /gasLimit is not known/],
  ['data that differs', { data: '0x01', input: '0x02' }, /must be the same/],
  ['another chain', { chainId: '0x1' }, /chainId must be 31337/],
  ['two kinds of prices', { gasPrice: '0x1', maxFeePerGas: '0x1' }, /gasPrice/],
  ['a decimal text', { value: '12' }, /value must be a quantity/],
  ['no gas', { gas: '0x0' }, /gas must be >= 1/],
  ['no receiver', { to: undefined }, /to must be given/],
]

test('rejects a transaction that cannot be sent, with the reason', async () => {
  const { send, count } = await start()
  for (const [title, transaction, reason] of refusals) {
    const { error } = await send(transaction)
    expect
      .soft(error, title)
      .toMatchObject({ code: -32_602, message: expect.stringMatching(reason), data: expect.anything() })
  }
  expect(await count()).toBe(0)
})

test('returns code 3 and the revert bytes, for the relayer’s own calls and forwarded ones', async () => {
  const { send, rpc } = await start()
  const errors = new Interface(['error Broke(uint256 why)'])
  const bytes = errors.encodeErrorResult('Broke', [7])
  // Code that reverts with these bytes, run as a constructor.
  const code = `0x63${bytes.slice(2, 10)}60e01b600052600760045260246000fd`
  const { error } = await send({ to: undefined, value: '0x0', data: code })
  expect(error).toMatchObject({ code: 3, data: bytes, message: expect.stringContaining('execution reverted') })
  for (const method of ['eth_call', 'eth_estimateGas']) {
    expect((await rpc.call(method, [{ data: code }])).error).toMatchObject({ code: 3, data: bytes })
  }
})

test('reports insufficient funds with the message that nodes use', async () => {
  const { send } = await start()
  const { error } = await send({ value: hex(10n ** 30n) })
  expect(error).toMatchObject({
    code: -32_000,
    message: expect.stringContaining('insufficient funds for gas * price + value'),
  })
})

test('nonce: accepts the next one, replaces an unfinished one at a higher price, and rejects any other', async () => {
  const { send, rpc, account, chain, count } = await start({ chain: { noMining: true } })
  const prices = (times: bigint) => ({ maxFeePerGas: hex(times * 10n * gwei), maxPriorityFeePerGas: hex(times * gwei) })
  expect((await send({ nonce: '0x1' })).error).toMatchObject({
    code: -32_000,
    message: 'nonce too high: the next nonce is 0; it is 1',
  })
  const first = await send({ nonce: '0x0', ...prices(1n) })
  expect(first.result).toMatch(/^0x/)
  for (const again of [{}, prices(1n)]) {
    const { error } = await send({ nonce: '0x0', value: '0x2', ...again })
    expect(error).toMatchObject({
      code: -32_000,
      message: expect.stringMatching(/^replacement transaction underpriced: nonce 0 .* 11000000000/),
    })
  }
  const second = await send({ nonce: '0x0', value: '0x2', ...prices(2n) })
  expect(second.result).toMatch(/^0x/)
  expect(second.result).not.toBe(first.result)
  await until(
    'the replacement is with the node',
    async () => (await chain.rpc('eth_getTransactionByHash', [second.result])) !== null,
  )
  await account.finished(chain.mine)
  const receipt = await rpc.result<Answer>('eth_getTransactionReceipt', [second.result])
  expect(receipt).toMatchObject({ status: '0x1', transactionHash: second.result })
  expect(await count()).toBe(1)
  expect((await send({ nonce: '0x0' })).error).toMatchObject({
    code: -32_000,
    message: 'nonce too low: the next nonce is 1; it is 0',
  })
})

test('a repeated replacement with an idempotency key gets the hash of the first, also after it is mined', async () => {
  const { rpc, account, chain, count } = await start({ chain: { noMining: true } })
  const prices = (times: bigint) => ({ maxFeePerGas: hex(times * 10n * gwei), maxPriorityFeePerGas: hex(times * gwei) })
  const send = (key: string, call: object) =>
    rpc.call('eth_sendTransaction', [{ from: account.address, to, gas: '0x5208', nonce: '0x0', ...call }], {
      'Idempotency-Key': key,
    })
  const original = { value: '0x1', ...prices(1n) }
  const first = await send('first', original)
  // The same content at another price, and another content.
  const dearer = { value: '0x1', ...prices(2n) }
  const other = { value: '0x2', ...prices(3n) }
  const second = await send('second', dearer)
  expect((await send('second', dearer)).result).toBe(second.result)
  const third = await send('third', other)
  expect((await send('third', other)).result).toBe(third.result)
  expect(new Set([first, second, third].map(({ result }) => result)).size).toBe(3)
  expect((await send('third', dearer)).error).toMatchObject({ message: expect.stringContaining('another body') })
  await account.finished(chain.mine)
  expect((await send('third', other)).result).toBe(third.result)
  expect((await send('first', original)).result).toBe(first.result)
  expect(await count()).toBe(1)
})

test('returns an error with the transaction id when it is not signed in time, with a code that no library retries', async () => {
  const { send, signer, account } = await startHeld()
  const { error } = await send({ gas: '0x5208' })
  expect(error).toMatchObject({ code: -32_002, data: { transaction_id: expect.any(String), status: 'pending' } })
  expect(error.message).toContain('do not send it again')
  signer.release()
  await account.finished()
  expect(await account.transactions()).toMatchObject([{ id: error.data.transaction_id, status: 'confirmed' }])
})

test('waits once for a relayer that cannot sign, and not once for each call of a batch', async () => {
  const { rpc, send, signer, account, count } = await startHeld()
  const calls = Array.from({ length: 24 }, (_, id) => ({
    ...{ jsonrpc: '2.0', id, method: 'eth_sendTransaction' },
    params: [{ to, value: hex(id + 1), gas: '0x5208' }],
  }))
  const batch = rpc.post(calls)
  // Eight calls of a batch run at the same time: the ninth is accepted when the first has waited.
  await until('the first calls have waited', async () => (await count()) > 8)
  const single = send({ gas: '0x5208' })
  expect(await Promise.race([batch.then(() => 'the batch'), single.then(() => 'a later call')])).toBe('the batch')
  await single
  const waiting = (await batch).answer.filter(({ error }: Answer) => error.code === -32_002)
  expect(waiting).toHaveLength((await count()) - 1)
  signer.release()
  await account.finished()
})

test('Idempotency-Key: returns the first hashes for a repeated request and sends nothing, alone and in a batch', async () => {
  const { rpc, count } = await start()
  const one = (id: number) => ({ jsonrpc: '2.0', id, method: 'eth_sendTransaction', params: [{ to, value: '0x1' }] })
  const key = { 'Idempotency-Key': 'order-1' }
  const first = (await rpc.post(one(1), key)).answer
  const second = (await rpc.post(one(2), key)).answer
  expect(second).toEqual({ ...first, id: 2 })
  const batch = { 'Idempotency-Key': 'order-2' }
  const both = (await rpc.post([one(1), one(2)], batch)).answer
  expect(new Set(both.map(({ result }: Answer) => result)).size).toBe(2)
  expect((await rpc.post([one(3), one(4)], batch)).answer.map(({ result }: Answer) => result)).toEqual(
    both.map(({ result }: Answer) => result),
  )
  expect(await count()).toBe(3)
  const other = { ...one(5), params: [{ to, value: '0x2' }] }
  expect((await rpc.post(other, key)).answer.error).toMatchObject({ code: -32_602 })
})

/** Sends a call and breaks the connection as soon as the service has it. */
async function breakOff(
  rpc: { url: string; headers: Record<string, string> },
  body: object,
  seen: () => Promise<boolean>,
) {
  const request = open(rpc.url, { method: 'POST', headers: { ...rpc.headers, 'Content-Type': 'application/json' } })
  request.on('error', () => {})
  request.end(JSON.stringify(body))
  await until('the service has it', seen)
  request.destroy()
}

test('sends a call without a key once when it is repeated after a broken connection, or at once under the same id', async () => {
  const { rpc, count, proxy, account } = await start()
  const one = (id: number) => ({ jsonrpc: '2.0', id, method: 'eth_sendTransaction', params: [{ to, value: '0x1' }] })
  // Nothing is slower to answer than what waits for a node; each test of the service's prices asks one.
  await proxy.setFault({ kind: 'slow', duration_ms: 300 })
  const asked = () => proxy.counts().requests ?? 0
  const before = asked()
  await breakOff(rpc, one(1), async () => asked() > before)
  await pause(50)
  const repeated = (await rpc.post(one(2))).answer
  expect(repeated.result).toMatch(/^0x/)
  expect(await count()).toBe(1)
  const [row] = await account.transactions()
  expect(row?.hash).toBe(repeated.result)
  // After a complete answer it is a new payment.
  const [left, right] = await Promise.all([rpc.post(one(3)), rpc.post(one(3))])
  expect(left.answer.result).toBe(right.answer.result)
  expect(left.answer.result).not.toBe(repeated.result)
  expect(await count()).toBe(2)
  const [third, fourth] = await Promise.all([rpc.post(one(4)), rpc.post(one(5))])
  expect(third.answer.result).not.toBe(fourth.answer.result)
  expect(await count()).toBe(4)
})
