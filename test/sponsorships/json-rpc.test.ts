import { createGelatoEvmRelayerClient } from '@gelatocloud/gasless'
import { createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { burn, gameAbi, newUser, play, sponsoredRig } from '../support/sponsorship.ts'
import { until } from '../support/until.ts'

const chainId = '31337'

test('serves @gelatocloud/gasless: it sends, waits, gets the status, and reads why a call would revert', async () => {
  const { rig, token, game, plays, balance, sponsorship, client } = await sponsoredRig()
  const relayer = createGelatoEvmRelayerClient({ apiKey: token, baseUrl: `${rig.url()}/api/v1` })
  const call = { chainId: 31_337, to: game as `0x${string}`, data: play(1) as `0x${string}` }

  expect(await relayer.getCapabilities()).toMatchObject({ 31337: { tokens: [{ decimals: 18 }] } })
  expect(await relayer.getFeeData({ chainId: 31_337, token: `0x${'0'.repeat(40)}` })).toMatchObject({ rate: 1 })
  const id = await relayer.sendTransaction(call)
  const receipt = await relayer.waitForReceipt({ id }, { usePolling: true })
  expect(receipt).toMatchObject({ status: 'success', to: game })
  expect(await relayer.getStatus({ id })).toMatchObject({ status: 200, id, receipt: { status: 'success' } })
  expect(await relayer.sendTransactionSync(call)).toMatchObject({ status: 'success' })
  expect(await plays()).toBe(2n)
  const recorded = await client.get('/api/v1/audit', { query: { operation: 'sendSponsoredCall' } })
  const { api_key_id: caller, relayer_id } = sponsorship
  expect(recorded.data).toMatchObject(Array(2).fill({ http_status: 201, caller, relayer_id }))

  const before = await balance()
  await expect(relayer.sendTransaction({ ...call, data: play(0) as `0x${string}` })).rejects.toMatchObject({
    ...{ code: 4211, revertData: gameAbi.encodeErrorResult('TooLow', [0]) },
  })
  await expect(relayer.sendTransaction({ ...call, data: burn(1) as `0x${string}` })).rejects.toMatchObject({
    code: 4100,
  })
  await expect(relayer.sendTransaction({ ...call, chainId: 1 })).rejects.toMatchObject({ code: 4206 })
  await expect(relayer.getStatus({ id: `0x${'0'.repeat(64)}` })).rejects.toMatchObject({ code: 4208 })
  expect(await balance()).toBe(before)
  const { data } = await client.get('/api/v1/sponsorships/{sponsorship_id}', {
    path: { sponsorship_id: sponsorship.id },
  })
  expect(BigInt(data.usage.used)).toBeGreaterThan(0n)
  relayer.ws.disconnect()
})

test('executes a forward request once, and answers the same id for the same request', async () => {
  const { rpc, forward, forwarder, plays } = await sponsoredRig()
  const user = newUser()
  const data = await forward(user)
  const params = { chainId, to: forwarder, data }
  const first = await rpc('relayer_sendTransactionSync', params)
  expect(first).toMatchObject({ result: { status: 200, chainId, receipt: { status: '0x1' } } })
  const { id } = first.result as { id: string }
  expect(await rpc('relayer_sendTransaction', [params])).toMatchObject({ result: id })
  expect(await plays(user.address)).toBe(1n)
  expect(await rpc('relayer_getStatus', [id])).toMatchObject({ result: [{ id, status: 200 }] })
  expect(await rpc('relayer_getStatus', [[id, id]])).toMatchObject({ result: [{ id }, { id }] })
})

test('carries out the call of a viem account that runs listed code, in the transaction that authorizes it', async () => {
  const { rig, rpc, accountCall, account_code, plays, balance } = await sponsoredRig()
  const wallet = newUser()
  const account = privateKeyToAccount(wallet.privateKey as `0x${string}`)
  const viem = createWalletClient({ account, transport: http(rig.chain.url) })
  const authorization = await viem.signAuthorization({ contractAddress: account_code as `0x${string}` })
  const before = await balance()
  const answer = await rpc('relayer_sendTransactionSync', {
    ...{ chainId, to: wallet.address, data: await accountCall(wallet, 1), payment: { type: 'sponsored' } },
    authorizationList: [
      {
        address: authorization.address,
        ...{ chainId: '0x7a69', nonce: '0x0', r: authorization.r, s: authorization.s },
        yParity: `0x${(authorization.yParity ?? 0).toString(16).padStart(64, '0')}`,
      },
    ],
  })
  expect(answer).toMatchObject({ result: { status: 200, receipt: { type: '0x4' } } })
  expect(await plays(wallet.address)).toBe(1n)
  expect(await balance()).toBeLessThan(before)
  // The account runs the code from now on.
  const next = await rpc('relayer_sendTransactionSync', {
    chainId,
    to: wallet.address,
    data: await accountCall(wallet, 2, 1),
  })
  expect(next).toMatchObject({ result: { status: 200, receipt: { type: '0x2' } } })
  expect(await plays(wallet.address)).toBe(2n)
})

test('says that no node can be reached, and not that the service has failed', async () => {
  const { rig, rpc, client, sponsorship, accountCall } = await sponsoredRig()
  const user = newUser()
  const data = await accountCall(user, 1)
  await rig.proxy.setFault({ kind: 'connection_refused' })
  for (const answer of [
    await rpc('relayer_getFeeData', { chainId, token: `0x${'0'.repeat(40)}` }),
    await rpc('relayer_sendTransaction', { chainId, to: user.address, data }),
  ])
    expect(answer).toMatchObject({ error: { message: expect.stringContaining('No node of the network answers') } })
  const body = { to: user.address, data }
  const path = { sponsorship_id: sponsorship.id }
  await expect(client.post('/api/v1/sponsorships/{sponsorship_id}/calls', { path, body })).rejects.toMatchObject({
    status: 503,
    details: [{ message: expect.stringContaining('No node of the network answers') }],
  })
})

test('separates equal plain calls, unless they have one Idempotency-Key', async () => {
  const { rpc, game, plays } = await sponsoredRig()
  const once = () =>
    rpc('relayer_sendTransactionSync', { chainId, to: game, data: play(1) }, { 'Idempotency-Key': 'order-7' })
  const answers = await Promise.all([once(), once()])
  const ids = answers.map(({ result }) => (result as { id: string }).id)
  expect(ids[0]).toBe(ids[1])
  const { result } = await rpc('relayer_sendTransactionSync', { chainId, to: game, data: play(1) })
  expect((result as { id: string }).id).not.toBe(ids[0])
  expect(await plays()).toBe(2n)
})

test('answers the id when the outcome is not known in time', async () => {
  const { rig, rpc, game } = await sponsoredRig({}, { chain: { noMining: true } })
  const params = { chainId, to: game, data: play(1), timeout: 50 }
  const { error } = await rpc('relayer_sendTransactionSync', params)
  expect(error).toMatchObject({ code: -32_070, data: expect.stringMatching(/^0x0{32}[0-9a-f]{32}$/) })
  const id = error?.data
  expect(await rpc('relayer_getStatus', { id })).toMatchObject({ result: { id, chainId } })
  await until('it is mined', async () => {
    await rig.chain.mine()
    const { result } = await rpc('relayer_getStatus', { id })
    return (result as { status: number }).status === 200
  })
})

test.each<[string, unknown, number]>([
  ['another payment', { chainId, to: `0x${'1'.repeat(40)}`, data: '0x', payment: { type: 'token' } }, 4202],
  ['a number as chainId', { chainId: 31_337, to: `0x${'1'.repeat(40)}`, data: '0x' }, -32_602],
  ['no address', { chainId, to: 'here', data: '0x' }, -32_602],
  ['an unknown member', { chainId, to: `0x${'1'.repeat(40)}`, data: '0x', value: '0x1' }, -32_602],
  ['a contract that is not listed', { chainId, to: `0x${'1'.repeat(40)}`, data: '0x12345678' }, 4100],
])('refuses %s', async (_name, params, code) => {
  const { rpc } = await sponsoredRig()
  expect(await rpc('relayer_sendTransaction', params)).toMatchObject({ error: { code } })
})

test('answers unknown methods, batches and faulty calls as JSON-RPC does', async () => {
  const { rpc, rig, token } = await sponsoredRig()
  expect(await rpc('eth_sendTransaction', [])).toMatchObject({ error: { code: -32_601 } })
  expect(await rpc('relayer_sendTransactionSync', { chainId, timeout: 1e9 })).toMatchObject({
    error: { code: -32_602 },
  })
  const body = JSON.stringify([{ jsonrpc: '2.0', id: 1, method: 'relayer_getCapabilities' }])
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` }
  const batch = await fetch(`${rig.url()}/api/v1/rpc`, { method: 'POST', headers, body })
  expect(await batch.json()).toMatchObject({ id: null, error: { code: -32_600 } })
})

test('lets only the pages of its origins call it', async () => {
  const { rpc, rig, sponsorship, client } = await sponsoredRig()
  const ask = (origin: string) =>
    fetch(`${rig.url()}/api/v1/rpc`, {
      method: 'OPTIONS',
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'x-api-key',
      },
    })
  const allowed = await ask('https://game.example')
  expect(allowed.status).toBe(204)
  expect(Object.fromEntries(allowed.headers)).toMatchObject({
    'access-control-allow-origin': 'https://game.example',
    'access-control-allow-headers': expect.stringContaining('x-api-key'),
    vary: 'Origin',
  })
  expect((await ask('https://evil.example')).status).toBe(403)
  const known = await rpc('relayer_getCapabilities', [], { Origin: 'https://game.example' })
  expect(known.result).toBeDefined()
  expect(known.headers.get('access-control-allow-origin')).toBe('https://game.example')
  const other = await rpc('relayer_getCapabilities', [], { Origin: 'https://evil.example' })
  expect(other.error?.code).toBe(4100)
  expect(other.headers.get('access-control-allow-origin')).toBeNull()

  // The page of another sponsorship is known to the service, and not to this key.
  await client.post('/api/v1/sponsorships', {
    body: {
      relayer_id: sponsorship.relayer_id ?? '',
      origins: ['https://other.example'],
      max_gas_per_call: 21_000,
      max_fee_per_call: '1',
      max_fee_per_day: '1',
    },
  })
  expect((await ask('https://other.example')).status).toBe(204)
  expect(await rpc('relayer_getCapabilities', [], { Origin: 'https://other.example' })).toMatchObject({
    error: { code: 4100 },
  })
  await client.patch('/api/v1/sponsorships/{sponsorship_id}', {
    path: { sponsorship_id: 'game' },
    body: { origins: [] },
  })
  expect((await ask('https://game.example')).status).toBe(403)
})
