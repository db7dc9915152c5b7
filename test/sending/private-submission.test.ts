import { expect, test } from 'vitest'
import type {
  JsonRpcAnswer,
  PrivateRpcUrlInput,
  RelayerError,
  SendTransactionRequest,
  SubmissionInput,
  Transaction,
} from '../../client/index.ts'
import { leaksOf, startPrivateRelay } from '../support/private-relay.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const one = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
type Payload = Transaction & { payload_type: string; wait_reason?: string }
const [gwei, fastestMs] = [1_000_000_000n, 16_000]

async function start(
  submission: SubmissionInput,
  { proxies = 1, urlOf = (url) => url }: { proxies?: number; urlOf?: (url: string) => PrivateRpcUrlInput } = {},
) {
  const rig = await testRig({ chain: { noMining: true }, proxies })
  const relay = await startPrivateRelay(rig.chain)
  for (const proxy of rig.proxies) relay.watch(proxy)
  const client = rig.client()
  const { data: network } = await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { private_rpc_urls: [urlOf(relay.url)], submission },
  })
  const { relayer_id, address } = await rig.addAccount()
  const path = { relayer_id }
  const pathOf = ({ id }: { id: string }) => ({ relayer_id, transaction_id: id })
  const get = async (its: { id: string }): Promise<Transaction> => (await client.get(one, { path: pathOf(its) })).data
  const base = { to, value: '1', gas_limit: 21_000 }
  return {
    ...{ rig, relay, client, network, path, pathOf, get, address },
    send: async (special: Partial<SendTransactionRequest> = {}, wait: 'none' | 'submitted' = 'submitted') =>
      (
        await client.post('/api/v1/relayers/{relayer_id}/transactions', {
          path,
          query: { wait },
          body: { ...base, ...special },
        })
      ).data,
    replace: async (its: { id: string }, special: Partial<SendTransactionRequest>) =>
      (await client.put(one, { path: pathOf(its), body: { ...base, ...special } })).data,
    cancel: (its: { id: string }) => client.delete(one, { path: pathOf(its) }),
    become: (its: { id: string }, wanted: Partial<Transaction>) => expect.poll(() => get(its)).toMatchObject(wanted),
    /** Whether a public node was ever sent these bytes. */
    isPublic: (hash: string | null) => rig.proxies.some((proxy) => proxy.broadcast().includes(`${hash}`)),
    rpc: async (method: string, params: unknown[], of = `relayers/${relayer_id}`) => {
      const response = await fetch(`${rig.url()}/api/v1/${of}/rpc`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${rig.api_key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
      return ((await response.json()) as { result: Record<string, unknown> | null }).result
    },
    /** The payloads of its events, up to the first one that is the last. */
    events: async (isLast: (payload: Payload) => boolean): Promise<Payload[]> => {
      const headers = { Authorization: `Bearer ${rig.api_key}`, 'Last-Event-ID': '0' }
      const stream = await fetch(`${rig.url()}/api/v1/relayers/${relayer_id}/events`, { headers })
      const reader = stream.body?.getReader()
      let text = ''
      const payloads = () =>
        text
          .split('\n')
          .flatMap((line): Payload[] => (line.startsWith('data:') ? [JSON.parse(line.slice(5)).payload] : []))
      while (!/\n\n$/.test(text) || !payloads().some(isLast))
        text += Buffer.from((await reader?.read())?.value ?? []).toString()
      await reader?.cancel()
      return payloads()
    },
    callRpc: async (method: 'eth_getTransactionReceipt', hash: string | null, asked = path) =>
      (
        (await client.post('/api/v1/relayers/{relayer_id}/rpc', {
          path: asked,
          body: { jsonrpc: '2.0', id: 1, method, params: [hash] },
        })) as JsonRpcAnswer
      ).result,
  }
}

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('It was not refused'),
    (error: RelayerError) => ({ status: error.status, detail: error.details?.[0] }),
  )

test('gives the bytes of a private transaction, of its repricing and of its cancellation to relays only', async () => {
  const { rig, relay, send, get, become, cancel, rpc, callRpc, isPublic, address } = await start({ mode: 'private' })
  const mined = await send({ speed: 'fastest', gas_limit: null })
  const shown = { mode: 'private', after_blocks: null, public_since: null }
  expect(mined).toMatchObject({ status: 'submitted', submission: shown })
  // Libraries ask for the hash again and again; the nodes do not hear of it.
  expect(await rpc('eth_getTransactionReceipt', [mined.hash])).toBeNull()
  expect(await rpc('eth_getTransactionByHash', [mined.hash])).toMatchObject({ hash: mined.hash, blockHash: null })
  expect(await callRpc('eth_getTransactionReceipt', mined.hash)).toBeNull()

  // A block without it, and the time of its tier.
  await rig.chain.mine(2)
  rig.clock.passed_ms += fastestMs
  await until(
    'it is repriced',
    async () => (await get(mined)).hash !== mined.hash,
    () => rig.chain.mine(),
  )
  const { hash } = await get(mined)
  await until('the relay has the new bytes', () =>
    relay.sent.some(({ transaction, isAccepted }) => isAccepted && transaction.hash === hash),
  )
  await relay.build()
  await become(mined, { status: 'confirmed', hash })
  expect(await rpc('eth_getTransactionReceipt', [mined.hash])).toMatchObject({ transactionHash: hash, status: '0x1' })

  const withdrawn = await send({ value: '2' })
  await cancel(withdrawn)
  await until('the relay has the cancellation', () =>
    relay.sent.some(({ transaction, isAccepted }) => isAccepted && transaction.value === 0n),
  )
  await relay.build()
  await become(withdrawn, { status: 'canceled' })
  // A restart broadcasts again all that is unfinished.
  const again = await send({ value: '3' })
  await rig.restart()
  const seen = () => relay.sent.filter(({ transaction }) => transaction.hash === again.hash).length
  await until('the relay has it twice', () => seen() >= 2)

  expect(relay.sent.map(({ transaction }) => isPublic(transaction.hash))).not.toContain(true)
  expect(leaksOf(relay)).toEqual([])
  // The log is that of the nodes: it has the receipts after the blocks.
  expect(relay.timeline.join()).toContain(`${hash}`)
  // Nor is its content told to them: that of a cancellation says nothing.
  const estimates = relay.timeline.filter((one) => typeof one === 'string' && one.includes('eth_estimateGas'))
  const ofRules = (one: unknown) => `${one}`.includes('"from":"0x00000000000000000000000000000000000c0de0"')
  expect(estimates.some(ofRules)).toBe(true)
  expect(estimates.filter((one) => !ofRules(one)).every((one) => `${one}`.includes(`"to":"${address}"`))).toBe(true)
})

test('tells no node the hash of a private transaction, whichever relayer or pool is asked for it', async () => {
  const { rig, relay, client, send, become, rpc, callRpc } = await start({ mode: 'private' })
  const { relayer_id } = await rig.addAccount()
  await client.pools.create({ id: 'others', network: 'local', relayer_ids: [relayer_id] })
  const sent = await send()
  const shown = `${sent.hash}`.toUpperCase().replace('0X', '0x')
  const answers = async () => [
    await callRpc('eth_getTransactionReceipt', shown, { relayer_id }),
    ...(await Promise.all(
      [`relayers/${relayer_id}`, 'pools/others'].flatMap((asked) => [
        rpc('eth_getTransactionReceipt', [shown], asked),
        rpc('eth_getTransactionByHash', [shown], asked),
      ]),
    )),
  ]
  expect(await answers()).toEqual([null, null, null, null, null])
  expect(relay.timeline.join().toLowerCase()).not.toContain(sent.hash)
  await relay.build()
  await become(sent, { status: 'confirmed' })
  expect(await answers()).not.toContain(null)
})

test('releases private_then_public by the height that most nodes prove, not by that of one', async () => {
  const submission = { mode: 'private_then_public', after_blocks: 5 } as const
  const { rig, relay, send, get, become, isPublic, events } = await start(submission, { proxies: 3 })
  const sent = await send()
  expect(sent.submission).toEqual({ ...submission, public_since: null })
  // One node says that the chain is far ahead.
  rig.proxies[0]?.setLiar(async (call, honest) => {
    if (call.method !== 'eth_getBlockByNumber' || call.params?.[0] !== 'latest') return undefined
    const { result } = await honest()
    return { result: { ...(result as object), number: '0xffff', hash: `0x${'ab'.repeat(32)}` } }
  })
  const asked = () => rig.proxies[1]?.counts().eth_getBlockByNumber ?? 0
  for (let block = 0; block < 4; block += 1) {
    await rig.chain.mine()
    const before = asked()
    await until('most nodes are asked for their height', () => asked() >= before + 2)
  }
  expect(isPublic(sent.hash)).toBe(false)
  expect(leaksOf(relay)).toEqual([])

  await until(
    'it is released',
    async () => (await get(sent)).submission?.public_since != null,
    () => rig.chain.mine(),
  )
  await until('a public node has it', () => isPublic(sent.hash))
  await rig.chain.mine()
  await become(sent, { status: 'confirmed' })
  const payloads = await events(({ status }) => status === 'confirmed')
  const changes = payloads.filter(({ payload_type }) => payload_type === 'transaction')
  const told = changes.map(({ status, submission: its }) => `${status} ${its?.public_since != null}`)
  expect(told).toEqual([
    'pending false',
    'sent false',
    'submitted false',
    'submitted true',
    'mined true',
    'confirmed true',
  ])
})

test('tells what relays have dropped by their rules, and gives it to them again', async () => {
  const urlOf = (url: string) => ({ url, private_expiry_blocks: 3, method: 'eth_sendPrivateTransaction' as const })
  const { rig, relay, send, become, pathOf, client, isPublic, events } = await start({ mode: 'private' }, { urlOf })
  const sent = await send({ speed: 'safe_low' })
  const height = Number(await rig.chain.rpc<string>('eth_blockNumber'))
  expect(relay.sent[0]).toMatchObject({ method: 'eth_sendPrivateTransaction', max_block: height + 3 })
  relay.drop()
  await rig.chain.mine(4)
  await become(sent, {
    status: 'submitted',
    status_reason: expect.stringContaining('Waits: the private relays had it'),
  })
  await until('the relay has it again', () => relay.sent.length >= 2)
  expect(relay.sent[1]).toMatchObject({ max_block: height + 7, transaction: { hash: sent.hash } })
  const { data } = await client.get('/api/v1/transactions/{transaction_id}/explanation', { path: pathOf(sent) })
  expect(data).toMatchObject({
    wait_reason: 'private_relay',
    suggestions: [{ operation: 'publishTransaction', body: null }, {}],
  })
  const [last] = (await events(({ payload_type }) => payload_type === 'transaction_waiting')).slice(-1)
  expect(last).toMatchObject({ transaction: { wait_reason: 'private_relay' } })
  expect(isPublic(sent.hash)).toBe(false)
  await relay.build()
  await become(sent, { status: 'confirmed' })
})

test('waits for a relay that is down, and falls back only by the caller’s word', async () => {
  const { relay, rig, send, get, become, replace, isPublic } = await start({ mode: 'private' })
  relay.refuse({ code: -32_603, message: 'overloaded' })
  const id = await send({ max_fee_per_gas: `${10n * gwei}`, max_priority_fee_per_gas: `${gwei}` }, 'none')
  await become(id, { status: 'sent', status_reason: expect.stringContaining('no private relay answers') })
  expect(isPublic(id.hash)).toBe(false)
  const released = await replace(id, { speed: 'fast', submission: { mode: 'public' } })
  expect(released.submission).toMatchObject({ mode: 'public', public_since: expect.any(String) })
  await until('a public node has it', async () => isPublic((await get(id)).hash))
  expect(await refusal(replace(id, { submission: { mode: 'private' } }))).toMatchObject({
    status: 409,
    detail: { path: '/body/submission/mode' },
  })
  await rig.chain.mine()
  await become(id, { status: 'confirmed' })
})

test('publishes a private transaction by an operation of its own, which takes nothing else', async () => {
  const { rig, send, get, become, replace, isPublic, pathOf, client } = await start({ mode: 'private' })
  const sent = await send({ max_fee_per_gas: `${10n * gwei}`, max_priority_fee_per_gas: `${gwei}` })
  for (const member of ['deduplication_id', 'ordering_key'])
    expect(await refusal(replace(sent, { [member]: 'order' }))).toMatchObject({
      ...{ status: 400, detail: { path: `/body/${member}` } },
    })
  const one = { path: pathOf(sent) }
  const only = client.put('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
    ...one,
    body: { submission: { mode: 'public' } },
  })
  expect(await refusal(only)).toMatchObject({ status: 400 })
  expect(isPublic(sent.hash)).toBe(false)
  const publish = () => client.post('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/publish', one)
  expect((await publish()).data).toMatchObject({
    hash: sent.hash,
    submission: { mode: 'public', public_since: expect.any(String) },
  })
  await until('a public node has it', async () => isPublic((await get(sent)).hash))
  expect(await refusal(publish())).toMatchObject({ status: 409 })
  await rig.chain.mine()
  await become(sent, { status: 'confirmed' })
})

test.each([
  ['under the ceiling that it has', {}, 12n],
  ['under another ceiling', { max_fee_per_gas: `${13n * gwei}` }, 13n],
])('publishes a cancellation that is under way, %s', async (_name, price, ceiling) => {
  const { rig, send, get, client, pathOf, isPublic } = await start({ mode: 'private' })
  const sent = await send({ max_fee_per_gas: `${10n * gwei}`, max_priority_fee_per_gas: `${gwei}` })
  const path = pathOf(sent)
  const canceled = async () =>
    (await client.get(`${one}/attempts`, { path })).data.filter(({ purpose }) => purpose === 'cancel')
  await client.delete(one, { path, query: { max_fee_per_gas: `${12n * gwei}` } })
  await until('it is signed', async () => (await canceled()).length > 0)
  await rig.chain.setBaseFee(100n * gwei)
  await rig.chain.mine()
  const { data } = await client.delete(one, { path, query: { submission: 'public', ...price } })
  expect(data.submission).toMatchObject({ mode: 'public' })
  const mine = async () => {
    rig.clock.passed_ms += 60_000
    await rig.chain.mine()
  }
  await until('a public node has it', async () => isPublic((await get(sent)).hash), mine)
  for (let count = 0; count < 3; count += 1) await mine()
  expect(isPublic(sent.hash)).toBe(false)
  const { figures } = await client.transactions.getExplanation(sent.id)
  expect(figures.requested_max_fee_per_gas).toBe(`${ceiling * gwei}`)
  for (const { max_fee_per_gas } of await canceled())
    expect(BigInt(max_fee_per_gas ?? 0)).toBeLessThanOrEqual(ceiling * gwei)
})

test('broadcasts again what a relay may have lost, when it cannot say whether it has it', async () => {
  const { rig, relay, send, get } = await start({ mode: 'private' })
  relay.say('eth_getTransactionByHash', { error: { code: -32_601, message: 'the method does not exist' } })
  const sent = await send({ speed: 'fastest' })
  rig.clock.passed_ms += fastestMs
  await until('the relay gets it again', () => relay.sent.length >= 2)
  expect(await get(sent)).toMatchObject({ status: 'submitted', status_reason: null })
})

test('releases private_then_public while another step of the same round fails', async () => {
  const { rig, send, get, isPublic } = await start({ mode: 'private_then_public', after_blocks: 3 })
  const sent = await send({ speed: 'fastest' })
  // It is due for a higher price, and no node tells one.
  rig.proxies[0]?.setLiar(async ({ method }, honest) => {
    if (/feeHistory|gasPrice/.test(method)) return { error: { code: -32_603, message: 'no price' } }
    if (method !== 'eth_getBlockByNumber') return undefined
    const { result } = await honest()
    return { result: { ...(result as object), baseFeePerGas: undefined } }
  })
  rig.clock.passed_ms += fastestMs
  await until(
    'it is released',
    async () => (await get(sent)).submission?.public_since != null,
    () => rig.chain.mine(),
  )
  rig.proxies[0]?.setLiar(() => undefined)
  await until('a public node has it', async () => isPublic((await get(sent)).hash))
})

/** A relay that drops nothing during a test. */
const patient = (url: string) => ({ url, private_expiry_blocks: 1_000 })

test('waits for private_relay while no relay answers or the network has none, also when a relay once had it', async () => {
  const { rig, relay, client, send, get, become, pathOf } = await start({ mode: 'public' }, { urlOf: patient })
  const sent = await send({ speed: 'safe_low', submission: { mode: 'private' } })
  const waits = async (text: string) => {
    // Blocks without it: it is broadcast again.
    await until(
      text,
      async () => (await get(sent)).status_reason?.includes(text) ?? false,
      () => rig.chain.mine(),
    )
    expect(await get(sent)).toMatchObject({ status: 'submitted' })
    const { data } = await client.get('/api/v1/transactions/{transaction_id}/explanation', { path: pathOf(sent) })
    expect(data).toMatchObject({ wait_reason: 'private_relay' })
  }
  relay.isDown = true
  await waits('Waits: no private relay answers')
  relay.isDown = false
  await become(sent, { status: 'submitted', status_reason: null })

  const setUrls = (privateRpcUrls: PrivateRpcUrlInput[] | null) =>
    client.patch('/api/v1/networks/{network_id}', {
      path: { network_id: 'evm:local' },
      body: { private_rpc_urls: privateRpcUrls },
    })
  await setUrls(null)
  await waits('The network has no private_rpc_urls')
  await setUrls([patient(relay.url)])
  await become(sent, { status: 'submitted', status_reason: null })
  await relay.build()
  await become(sent, { status: 'confirmed' })
})

test('disables no relayer because a relay is on another chain', async () => {
  const { relay, client, path, send, become } = await start({ mode: 'private' })
  relay.say('eth_chainId', { result: '0x5' })
  expect(await refusal(send({ gas_limit: null }, 'none'))).toMatchObject({ status: 503, detail: { path: 'network' } })
  const enabled = { data: { system_disabled: false, disabled_reason: null } }
  expect(await client.get('/api/v1/relayers/{relayer_id}', { path })).toMatchObject(enabled)
  const sent = await send({}, 'none')
  await become(sent, { status: 'sent', status_reason: expect.stringContaining('no private relay answers') })
  expect(await client.get('/api/v1/relayers/{relayer_id}', { path })).toMatchObject(enabled)
})

test('refuses a submission that the network cannot do, and shows relays without their secrets', async () => {
  const { client, network, rig, send } = await start(
    { mode: 'public' },
    { urlOf: (url) => `${url}/v1/a-secret-of-the-relay` },
  )
  const [shown] = network.private_rpc_urls
  expect(shown).toMatchObject({ method: 'eth_sendRawTransaction', private_expiry_blocks: 25 })
  expect(shown?.url).toMatch(/\/\*\*\*$/)
  expect(network.submission).toEqual({ mode: 'public', after_blocks: null })
  const plain = await send()
  expect(plain.submission).toBeNull()
  await rig.chain.mine()

  const after = '/body/submission/after_blocks'
  expect(await refusal(send({ submission: { mode: 'private_then_public' } as never }))).toMatchObject({
    detail: { path: after },
  })
  expect(await refusal(send({ submission: { mode: 'private', after_blocks: 3 } as never }))).toMatchObject({
    detail: { path: after },
  })
  const change = (body: object) =>
    client.patch('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' }, body })
  await change({ private_rpc_urls: null })
  const mode = { status: 400, detail: { path: '/body/submission/mode' } }
  expect(await refusal(send({ submission: { mode: 'private' } }))).toMatchObject(mode)
  expect(await refusal(change({ submission: { mode: 'private' } }))).toMatchObject(mode)
})
