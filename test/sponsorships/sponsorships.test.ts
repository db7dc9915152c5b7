import { Transaction as Signed, type Wallet } from 'ethers'
import { expect, test } from 'vitest'
import { RelayerError, type Transaction } from '../../client/index.ts'
import { checkDay } from '../../server/services/key-owners.ts'
import { testChain } from '../support/chain.ts'
import { jsonRpcOf } from '../support/json-rpc.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'
import {
  burn,
  deployGame,
  type Game,
  maxFee,
  newUser,
  ownCall,
  play,
  type SponsoredRig,
  sponsoredRig,
} from '../support/sponsorship.ts'
import { until } from '../support/until.ts'

type Call = Parameters<SponsoredRig['calls']['sponsorships']['sendSponsoredCall']>[1]

const send = ({ calls }: Pick<SponsoredRig, 'calls'>, call: Call) => calls.sponsorships.sendSponsoredCall('game', call)
const outcomeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'accepted',
    (error) => {
      if (!(error instanceof RelayerError)) throw error
      return `${error.status} ${error.details[0]?.path}: ${error.details[0]?.message}`
    },
  )
const hourMs = 3_600_000
const transaction = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const usageOf = async ({ client }: SponsoredRig) => (await client.sponsorships.get('game')).usage
const ended = (sponsored: SponsoredRig, id: string) =>
  until('the call has ended', async () => {
    const { status } = await sponsored.calls.sponsorships.getSponsoredCall('game', id)
    return status !== 'pending' && status !== 'submitted'
  })
const allEnded = ({ client }: SponsoredRig) =>
  until('all calls have ended', async () => {
    const { data } = await client.get('/api/v1/queues', { query: { per_page: 100 } })
    return data.every(({ unfinished_count }) => unfinished_count === 0)
  })

test.each<[string, (its: SponsoredRig, user: Wallet) => Promise<string>, string]>([
  [
    'a used nonce',
    async (its, user) => {
      await ended(its, (await send(its, { to: its.forwarder, data: await its.forward(user) })).id)
      return its.forward(user, { nonce: 0n, gas: 90_000n })
    },
    '400 /body: would revert: ',
  ],
  ['a later nonce', ({ forward }, user) => forward(user, { nonce: 7n }), '400 /body: would revert: '],
  [
    'a past deadline',
    ({ forward }, user) => forward(user, { deadline: 1 }),
    '400 /body/data: the deadline of what was signed has passed',
  ],
  ['another signer', ({ forward }, user) => forward(user, { signer: newUser() }), '400 /body: would revert: '],
  [
    'value',
    ({ forward }, user) => forward(user, { value: 1n }),
    '403 sponsorship/targets: a forward request must have the value 0',
  ],
  [
    'another target',
    ({ forward }, user) => forward(user, { to: user.address }),
    '403 sponsorship/targets: the contract',
  ],
  [
    'another function',
    ({ forward }, user) => forward(user, { data: burn(1) }),
    '403 sponsorship/targets: the function',
  ],
  [
    'too much gas',
    ({ forward }, user) => forward(user, { gas: 300_001n }),
    '403 sponsorship/max_gas_per_call: the forward request asks for 300001 gas',
  ],
  ['an inner failure', ({ forward }, user) => forward(user, { data: play(0) }), '400 /body: would revert: '],
])('spends nothing for a forward request with %s', async (_name, requestOf, outcome) => {
  const its = await sponsoredRig()
  const data = await requestOf(its, newUser())
  const state = async () => [await its.balance(), (await usageOf(its)).used, await its.plays()]
  const before = await state()
  expect(await outcomeOf(send(its, { to: its.forwarder, data }))).toContain(outcome)
  expect(await state()).toEqual(before)
})

test('accepts 40 calls of 100 users at once under a budget of 40, and counts what they paid once they are mined', async () => {
  const options = { chain: { noMining: true }, settings: { METRICS_PORT: '0' } }
  const its = await sponsoredRig({ max_fee_per_day: `${maxFee * 40n}` }, options)
  const users = Array.from({ length: 100 }, newUser)
  const requests = await Promise.all(users.map((user) => its.forward(user, { nonce: 0n })))
  const outcomes = await Promise.all(requests.map((data) => outcomeOf(send(its, { to: its.forwarder, data }))))
  expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(40)
  expect(new Set(outcomes.filter((outcome) => outcome !== 'accepted'))).toEqual(
    new Set([
      `403 sponsorship/max_fee_per_day: A fee of up to ${maxFee} wei is above the remaining 0 wei of the daily limit of ${maxFee * 40n} wei`,
    ]),
  )
  expect(await usageOf(its)).toMatchObject({ used: `${maxFee * 40n}`, remaining: '0', limit: `${maxFee * 40n}` })

  const metrics = await (await fetch(its.rig.metrics_url())).text()
  for (const name of ['used', 'budget']) {
    const [, value] =
      new RegExp(`^relayer_sponsorship_${name}_wei\\{sponsorship="game"\\} (\\S+)$`, 'm').exec(metrics) ?? []
    expect(Number(value)).toBe(Number(maxFee * 40n))
  }

  const before = await its.balance()
  await until('all are mined', async () => {
    await its.rig.chain.mine()
    return (await its.plays()) === 40n
  })
  await until('the paid fees are counted', async () => {
    await its.rig.chain.mine()
    return BigInt((await usageOf(its)).used) === before - (await its.balance())
  })
})

test('counts the worst case of a call until it is final, also through a reorganization', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true }, confirmations: 3 })
  await its.rig.chain.mine(3)
  await send(its, { to: its.game, data: play(1) })
  const used = async () => BigInt((await usageOf(its)).used)
  const becomes = (status: string) => until(`it is ${status}`, async () => (await only(its)).status === status)
  await becomes('submitted')
  await its.rig.chain.mine()
  await becomes('mined')
  expect(await used()).toBe(maxFee)
  await its.rig.chain.reorg(1)
  await becomes('submitted')
  expect(await used()).toBe(maxFee)
  await until('it is final', async () => {
    await its.rig.chain.mine()
    return (await only(its)).status === 'confirmed'
  })
  expect(`${await used()}`).toBe((await only(its)).receipt?.fee)
})

test('counts calls that wait for longer than a day until they end, and what they paid for a day from then', async () => {
  const its = await sponsoredRig(
    { max_fee_per_day: `${maxFee * 2n}`, user_limits: { max_fee_per_day: `${maxFee * 2n}` } },
    { chain: { noMining: true } },
  )
  const user = newUser().address
  const accept = () => its.client.sponsorships.sendSponsoredCall('game', { to: its.game, data: play(1), user })
  const used = async () => {
    const { usage } = await its.client.sponsorships.get('game')
    const known = await its.client.sponsorships.getSponsoredUser('game', user)
    return [BigInt(usage.used), BigInt(known.fees?.used ?? 0)]
  }
  await accept()
  await accept()
  its.rig.clock.passed_ms += 25 * hourMs
  expect(await used()).toEqual([maxFee * 2n, maxFee * 2n])
  expect(await outcomeOf(accept())).toContain('403 sponsorship/max_fee_per_day')

  const before = await its.balance()
  await until('both are mined', async () => {
    await its.rig.chain.mine()
    return (await its.plays()) === 2n
  })
  const paid = before - (await its.balance())
  await until('what they paid is counted', async () => {
    await its.rig.chain.mine()
    return (await used()).every((amount) => amount === paid)
  })
  expect(await outcomeOf(accept())).toBe('accepted')
  its.rig.clock.passed_ms += 25 * hourMs
  expect(await used()).toEqual([maxFee, maxFee])
})

test('counts the worst case of a call while nodes show its nonce as used and nothing of it, then what it paid', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true } })
  await send(its, { to: its.game, data: play(1) })
  await until('it is submitted', async () => (await only(its)).status === 'submitted')
  its.rig.proxy.setLiar(({ method, params }) => {
    if (method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash') return { result: null }
    const isWhole = method === 'eth_getBlockByNumber' && params?.[1] === true
    return isWhole ? { error: { code: -32_000, message: 'block is not available' } } : undefined
  })
  await its.rig.chain.mine(3)
  const reason = async () => (await only(its)).status_reason ?? ''
  await until('its nonce is uncertain', async () => (await reason()).includes('is used, but by no transaction'))
  its.rig.clock.passed_ms += 3 * hourMs
  await its.rig.chain.mine(3)
  expect((await only(its)).status).toBe('submitted')
  expect((await usageOf(its)).used).toBe(`${maxFee}`)
  its.rig.proxy.setLiar(undefined)
  await until('it is final', async () => {
    its.rig.clock.passed_ms += 60_000
    return (await only(its)).status === 'confirmed'
  })
  expect((await usageOf(its)).used).toBe((await only(its)).receipt?.fee)
})

test('shows a call as rejected that the nodes refuse for good, although a transfer at its nonce is in a block', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true }, proxies: 2 })
  for (const proxy of its.rig.proxies) {
    proxy.setLiar(({ method, params }) => {
      if (method !== 'eth_sendRawTransaction') return undefined
      const { to } = Signed.from((params as [string])[0])
      return to?.toLowerCase() === its.game ? { error: { code: -32_000, message: 'invalid sender' } } : undefined
    })
  }
  const { id } = await send(its, { to: its.game, data: play(1) })
  const shown = () => its.calls.sponsorships.getSponsoredCall('game', id)
  await until(
    'it has ended',
    async () => !['pending', 'submitted'].includes((await shown()).status),
    its.rig.chain.mine,
  )
  expect(await shown()).toMatchObject({
    status: 'rejected',
    error: { code: 'rejected', message: 'All healthy endpoints refused it: invalid sender', revert_data: null },
  })
  expect(await its.plays()).toBe(0n)
})

test('counts nothing for a call that was never sent and is canceled, alone or with all others', async () => {
  const its = await sponsoredRig({ user_limits: { max_fee_per_day: `${maxFee * 3n}` } }, { chain: { noMining: true } })
  // Another sender's transactions are in the pool, so nothing is signed.
  its.rig.proxy.setLiar((call) =>
    call.method === 'eth_getTransactionCount' && call.params?.[1] === 'pending' ? { result: '0xff' } : undefined,
  )
  const user = newUser().address
  const plain = { to: its.game, data: play(1), user }
  const accept = () => its.client.sponsorships.sendSponsoredCall('game', plain)
  const [first, , last] = [await accept(), await accept(), await accept()]
  const used = async () => {
    const known = await its.client.sponsorships.getSponsoredUser('game', user)
    return [(await usageOf(its)).used, known.fees?.used]
  }
  expect(await used()).toEqual([`${maxFee * 3n}`, `${maxFee * 3n}`])
  const path = { relayer_id: its.relayer.id }
  await its.client.delete(transaction, { path: { ...path, transaction_id: last.transaction_id } })
  expect(await used()).toEqual([`${maxFee * 2n}`, `${maxFee * 2n}`])
  await its.client.delete('/api/v1/relayers/{relayer_id}/transactions/pending', { path })
  const { data } = await its.client.get(transaction, { path: { ...path, transaction_id: first.transaction_id } })
  expect(data).toMatchObject({ status: 'canceled', nonce: null })
  expect(await used()).toEqual(['0', '0'])
})

test('counts nothing for the calls of a test chain that was restarted', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true }, confirmations: 3 })
  await its.rig.chain.mine(3)
  const mined = await send(its, { to: its.game, data: play(1) })
  const statusOf = async ({ id }: { id: string }) => (await its.calls.sponsorships.getSponsoredCall('game', id)).status
  await until('it is submitted', async () => (await statusOf(mined)) === 'submitted')
  await its.rig.chain.mine()
  await until('it is mined', async () => (await statusOf(mined)) === 'succeeded')
  const waits = await send(its, { to: its.game, data: play(2) })
  expect(BigInt((await usageOf(its)).used)).toBeGreaterThan(maxFee)
  await its.rig.chain.restart()
  await its.rig.chain.setBalance(its.relayer.address, 10n ** 24n)
  const path = { relayer_id: its.relayer.id }
  await until('the restart is noticed', async () => {
    const { data } = await its.client.get('/api/v1/relayers/{relayer_id}/nonce', { path })
    return data.status === 'chain_restarted'
  })
  await its.client.post('/api/v1/relayers/{relayer_id}/nonce/reconcile', { path, body: { chain_restarted: true } })
  for (const { id } of [mined, waits]) {
    expect(await its.calls.sponsorships.getSponsoredCall('game', id)).toMatchObject({ status: 'rejected', fee: null })
  }
  expect((await usageOf(its)).used).toBe('0')
})

test('counts the fee that most nodes say, and the worst case while they disagree', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true }, proxies: 3 })
  const says = (index: number, more: object) =>
    its.rig.proxies[index]?.setLiar(async (call, honest) => {
      if (call.method !== 'eth_getTransactionReceipt') return undefined
      const { result } = await honest()
      return { result: result && { ...result, ...more } }
    })
  const usedBy = async (number: number) => {
    await send(its, { to: its.game, data: play(number) })
    await until('it is final', async () => {
      await its.rig.chain.mine()
      return (await transactionsOf(its)).filter(({ status }) => status === 'confirmed').length === number
    })
    return BigInt((await usageOf(its)).used)
  }
  const before = await its.balance()
  says(0, { effectiveGasPrice: '0x0' })
  const paid = await usedBy(1)
  expect(paid).toBe(before - (await its.balance()))
  says(1, { effectiveGasPrice: '0x1' })
  expect(await usedBy(2)).toBe(paid + maxFee)
})

const only = async (its: SponsoredRig) => (await transactionsOf(its))[0] as Transaction

async function transactionsOf({ client, relayer }: SponsoredRig): Promise<Transaction[]> {
  return (await client.get('/api/v1/relayers/{relayer_id}/transactions/', { path: { relayer_id: relayer.id } })).data
}

test('never pays more than max_fee_per_call for a call, also when prices rise', async () => {
  const limit = maxFee / 20n
  const its = await sponsoredRig({ max_fee_per_call: `${limit}` }, { chain: { noMining: true } })
  await send(its, { to: its.game, data: play(1) })
  const [first, call] = [await only(its), () => only(its)]
  await until('it is submitted', async () => (await call()).status === 'submitted')
  // The market asks for twice what the call may cost.
  await until('it is repriced', async () => {
    await its.rig.chain.setBaseFee(5n * 10n ** 9n)
    await its.rig.chain.mine()
    its.rig.clock.passed_ms += 60_000
    return (await call()).max_fee_per_gas !== first.max_fee_per_gas
  })
  const { gas_limit, max_fee_per_gas } = await call()
  const highest = BigInt(gas_limit ?? 0) * BigInt(max_fee_per_gas ?? 0)
  expect(highest).toBeLessThanOrEqual(limit)
  expect(highest).toBeGreaterThan((limit * 9n) / 10n)
})

test('keeps what later calls of a user count, when his limit is set while a call is open', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true } })
  const user = newUser().address
  const plain = { to: its.game, data: play(1), user }
  const accept = () => its.client.sponsorships.sendSponsoredCall('game', plain)
  const used = async () => (await its.client.sponsorships.getSponsoredUser('game', user)).fees?.used
  const first = await accept()
  await its.client.sponsorships.update('game', { user_limits: { max_fee_per_day: `${maxFee}` } })
  const second = await accept()
  expect(await used()).toBe(`${maxFee}`)
  const fee = async ({ id }: { id: string }) => (await its.calls.sponsorships.getSponsoredCall('game', id)).fee
  await until('both are mined', async () => {
    await its.rig.chain.mine()
    return (await fee(first)) !== null && (await fee(second)) !== null
  })
  await until('the paid fee is counted', async () => {
    await its.rig.chain.mine()
    return (await used()) !== `${maxFee}`
  })
  expect(await used()).toBe(await fee(second))
})

test('keeps the Idempotency-Keys of plain calls by user', async () => {
  const its = await sponsoredRig()
  const [anna, ben] = [newUser().address, newUser().address]
  const call = async (user?: string, number = 1) =>
    (
      await its.client.post('/api/v1/sponsorships/{sponsorship_id}/calls', {
        path: { sponsorship_id: 'game' },
        header: { 'Idempotency-Key': 'order-7' },
        body: { to: its.game, data: play(number), ...(user !== undefined && { user }) },
      })
    ).data
  const first = await call(anna)
  expect(await call(anna.toLowerCase())).toMatchObject({ id: first.id, user: anna.toLowerCase() })
  expect(await outcomeOf(call(anna, 2))).toBe('422 /headers/idempotency-key: was used with another body')
  const others = [await call(ben), await call()]
  expect(others.map(({ user }) => user)).toEqual([ben.toLowerCase(), null])
  expect(new Set([first, ...others].map(({ id }) => id)).size).toBe(3)
})

test('refuses to replace the transaction of a call, by REST and by JSON-RPC, and cancels it', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true } })
  const call = await send(its, { to: its.game, data: play(1) })
  const path = { relayer_id: its.relayer.id, transaction_id: call.transaction_id }
  const read = async () => (await its.client.get(transaction, { path })).data
  await until('it is submitted', async () => (await read()).status === 'submitted')
  const before = await read()
  const message = 'the call of a sponsorship stays as it is, and can be canceled'
  const { to, data, gas_limit, max_fee_per_gas } = before
  const { address } = its.relayer
  for (const content of [
    { to: address, value: '1', gas_limit },
    { to, data, gas_limit, speed: 'fastest' as const },
  ]) {
    const replaced = its.client.put(transaction, { path, body: content })
    await expect(replaced).rejects.toMatchObject({ status: 409, message: `path/transaction_id: ${message}` })
  }
  const price = `0x${(BigInt(max_fee_per_gas ?? 0) * 2n).toString(16)}`
  const { call: rpc } = jsonRpcOf(its.rig.url(), its.rig.api_key, its.relayer.id)
  const dearer = { from: address, to: address, value: '0x1', nonce: '0x0', gasPrice: price }
  expect((await rpc('eth_sendTransaction', [dearer])).error.message).toContain(message)
  expect(await read()).toEqual(before)

  await its.client.delete(transaction, { path })
  await until('a node has the cancellation', async () => {
    const { hash } = await read()
    return hash !== before.hash && (await its.rig.chain.rpc('eth_getTransactionByHash', [hash])) !== null
  })
  await its.rig.chain.mine()
  await until('it is canceled', async () => (await read()).status === 'canceled')
  expect(await its.calls.sponsorships.getSponsoredCall('game', call.id)).toMatchObject({
    status: 'rejected',
    error: { code: 'canceled', message: 'Canceled by request', revert_data: null },
  })
})

test('holds the limits of each user, whom a signature or a server names, never a browser', async () => {
  const its = await sponsoredRig({ user_limits: { max_calls_per_day: 2, max_fee_per_day: `${maxFee * 10n}` } })
  const [anna, ben] = [newUser(), newUser()]
  const forward = async (user: Wallet) => {
    const outcome = await outcomeOf(
      send(its, { to: its.forwarder, data: await its.forward(user) }).then(({ id }) => ended(its, id)),
    )
    return outcome
  }
  expect([await forward(anna), await forward(anna)]).toEqual(['accepted', 'accepted'])
  expect(await forward(anna)).toBe(
    '403 sponsorship/user_limits/max_calls_per_day: One more call is above the remaining 0 of the daily limit of 2',
  )
  expect(await forward(ben)).toBe('accepted')

  const plain = { to: its.game, data: play(1) }
  expect(await outcomeOf(send(its, plain))).toContain('403 sponsorship/user_limits: a plain call needs a user')
  expect(await outcomeOf(send(its, { ...plain, user: ben.address }))).toContain('400 /body/user')
  const byServer = (user: string) => outcomeOf(its.client.sponsorships.sendSponsoredCall('game', { ...plain, user }))
  expect(await byServer(ben.address)).toBe('accepted')
  expect(await byServer(ben.address)).toContain('403 sponsorship/user_limits/max_calls_per_day')
  const known = await its.client.sponsorships.getSponsoredUser('game', ben.address)
  expect(known).toMatchObject({ user: ben.address.toLowerCase(), calls: { used: 2, remaining: 0, limit: 2 } })
  expect(BigInt(known.fees?.used ?? 0)).toBeGreaterThan(0n)
})

test('sends one forward request of a user at a time', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true } })
  const user = newUser()
  const first = await send(its, { to: its.forwarder, data: await its.forward(user, { nonce: 0n }) })
  const second = { to: its.forwarder, data: await its.forward(user, { nonce: 0n, gas: 90_000n }) }
  expect(await outcomeOf(send(its, second))).toContain('409 /body/data: another call of this user waits')
  expect(await outcomeOf(send(its, { to: its.forwarder, data: await its.forward(newUser()) }))).toBe('accepted')
  await until('the first is mined', async () => {
    await its.rig.chain.mine()
    return (await its.calls.sponsorships.getSponsoredCall('game', first.id)).status === 'succeeded'
  })
  expect(await outcomeOf(send(its, second))).toContain('400 /body: would revert')
})

test('sends forward requests of a user on two chains at the same time', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true } })
  const chainId = 31_338
  const chain = await testChain({ noMining: true, args: ['--chain-id', `${chainId}`] })
  const game = await deployGame(chain, chain.mine)
  expect(game.forwarder).toBe(its.forwarder)
  const network = { name: 'second', network_type: 'evm', chain_id: chainId } as const
  await its.client.post('/api/v1/networks', { body: { ...network, rpc_urls: [chain.url] } })
  const { data: signer } = await its.client.post('/api/v1/signers', { body: { type: 'generated' } })
  const payer = { id: 'payer', name: 'payer', network: 'second', network_type: 'evm', paused: false } as const
  const { data: relayer } = await its.client.post('/api/v1/relayers', { body: { ...payer, signer_id: signer.id } })
  await chain.setBalance(relayer.address, 10n ** 24n)
  await its.client.sponsorships.create({ ...game.rules, id: 'second', relayer_id: relayer.id })
  const user = newUser()
  const forward = async (id: string, { forwarder, forward }: Game) => {
    const call = { to: forwarder, data: await forward(user, { nonce: 0n }) }
    return outcomeOf(its.client.sponsorships.sendSponsoredCall(id, call))
  }
  expect([await forward('game', its), await forward('second', game)]).toEqual(['accepted', 'accepted'])
})

test('lets the stolen key of a sponsorship do nothing else, and spend no more than the budget', async () => {
  const its = await sponsoredRig({ max_fee_per_day: `${maxFee * 3n}`, max_gas_per_call: 100_000 })
  const { calls, game, relayer, client } = its
  const others = [
    () => calls.get('/api/v1/relayers', {}),
    () => calls.sponsorships.get('game'),
    () => calls.sponsorships.update('game', { max_fee_per_day: '9999999999999999999' }),
    () => calls.get('/api/v1/relayers/{relayer_id}/transactions/', { path: { relayer_id: relayer.id } }),
    () => calls.transactions.send(relayer.id, { to: game, data: play(1) }),
    () => calls.signing.signMessage(relayer.id, { message: 'hello' }),
    () => calls.relayers.getStatus(relayer.id),
    () => calls.apiKeys.create({ name: 'mine', scopes: ['sign', 'send', 'read', 'notifications', 'manage'] }),
    () => calls.apiKeys.getOwn(),
  ]
  for (const attempt of others) {
    expect(await outcomeOf(attempt())).toContain('403 api_key: this API key is that of a sponsorship')
  }
  const { targets, max_gas_per_call, max_fee_per_call: highest, max_fee_per_day } = its.sponsorship
  const own = { relayer_id: relayer.id, targets, max_gas_per_call, max_fee_per_call: highest, max_fee_per_day }
  const other = await client.sponsorships.create({ id: 'other', ...own })
  expect(await outcomeOf(calls.sponsorships.sendSponsoredCall('other', { to: game, data: play(1) }))).toContain('404')
  expect(other.sponsorship.usage.used).toBe('0')
  const before = await its.balance()
  const tries = Array.from({ length: 60 }, (_, index): Call => {
    const address = newUser().address
    const kinds = [
      { to: game, data: play(index + 1) },
      { to: game, data: burn(10_000) },
      { to: address, data: play(1) },
      { to: game, data: `${play(1)}${'ff'.repeat(20_000)}` },
      { to: relayer.address, data: '0x' },
      { to: its.account_code, data: play(1) },
    ]
    return kinds[index % kinds.length] as Call
  })
  const outcomes = await Promise.all(tries.map((body) => outcomeOf(send(its, body))))
  expect(new Set(outcomes.map((outcome) => outcome.slice(0, 3)))).toEqual(new Set(['acc', '403']))
  await until('what was accepted has ended', async () => {
    const { data } = await client.get('/api/v1/relayers/{relayer_id}/transactions/', {
      path: { relayer_id: relayer.id },
    })
    return data.every(({ status }) => status === 'confirmed' || status === 'mined')
  })
  expect(before - (await its.balance())).toBeLessThanOrEqual(maxFee * 3n)
})

test('carries out calls of an account only with listed code, and with an authorization that is fresh and its own', async () => {
  const its = await sponsoredRig()
  const user = newUser()
  const authorizationOf = async (signer: Wallet, nonce: number, address = its.account_code) => {
    const { signature } = await signer.authorize({ address, nonce, chainId: 31_337n })
    return { chain_id: 31_337, address, nonce, r: signature.r, s: signature.s, y_parity: signature.yParity }
  }
  const body = { to: user.address, data: await its.accountCall(user, 1) }
  const withOne = async (signer: Wallet, nonce: number, address?: string) =>
    outcomeOf(send(its, { ...body, authorization_list: [await authorizationOf(signer, nonce, address)] }))
  expect(await outcomeOf(send(its, body))).toContain('is not listed, and runs no code of another contract')
  expect(await withOne(newUser(), 0)).toContain('400 /body/authorization_list/0: must be signed by the account to')
  expect(await withOne(user, 1)).toContain('400 /body/authorization_list/0/nonce: must be 0')
  expect(await withOne(user, 0, its.game)).toContain('403 sponsorship/delegates')
  const authorizationList = [await authorizationOf(user, 0)]
  const elsewhere = {
    to: user.address,
    data: await its.accountCall(user, 1, 0, its.forwarder),
    authorization_list: authorizationList,
  }
  expect(await outcomeOf(send(its, elsewhere))).toContain('403 sponsorship/targets: the contract')
  const wasteful = { ...elsewhere, data: await its.accountCall(user, 1, 0, its.game, burn(1)) }
  expect(await outcomeOf(send(its, wasteful))).toContain('403 sponsorship/targets: the function')
  expect(await its.plays()).toBe(0n)
  await ended(its, (await send(its, { ...body, authorization_list: authorizationList })).id)
  expect(await its.plays(user.address)).toBe(1n)
  const again = { to: user.address, data: await its.accountCall(user, 1, 1) }
  // It is in force: left out, and its nonce does not matter.
  expect(await outcomeOf(send(its, { ...again, authorization_list: [await authorizationOf(user, 9)] }))).toBe(
    'accepted',
  )
  await until('it is executed too', async () => (await its.plays(user.address)) === 2n)
})

/** EIP-7702: the code of an account that runs another contract's. */
const delegate = ({ rig, account_code }: SponsoredRig, address: string) =>
  rig.chain.rpc('anvil_setCode', [address, `0xef0100${account_code.slice(2)}`])

test('never calls the address of a relayer, whose own coin a delegated account would move without a signature', async () => {
  const its = await sponsoredRig({ max_fee_per_day: `${maxFee * 10n}` })
  const other = await its.rig.addAccount()
  for (const address of [its.relayer.address, other.address]) await delegate(its, address)
  const before = await its.balance()
  const data = ownCall(its.game, 10n ** 19n, play(1))
  for (const address of [its.relayer.address, other.address]) {
    expect(await outcomeOf(send(its, { to: address, data }))).toBe(
      `403 sponsorship/targets: ${address} is the address of a relayer`,
    )
  }
  // Also as a target that somebody listed, in each kind of call.
  const targets = [{ address: its.relayer.address, selectors: [data.slice(0, 10), play(1).slice(0, 10)] }]
  await its.client.sponsorships.update('game', { targets })
  const user = newUser()
  await delegate(its, user.address)
  const toSender = [
    { to: its.relayer.address, data },
    { to: its.forwarder, data: await its.forward(user, { to: its.relayer.address }) },
    { to: user.address, data: await its.accountCall(user, 1, 0, its.relayer.address) },
  ]
  for (const call of toSender)
    expect(await outcomeOf(send(its, call))).toBe(
      `403 sponsorship/targets: ${its.relayer.address} is the address of a relayer`,
    )
  expect(await its.balance()).toBe(before)
})

test('counts the value that an account moves for its user against the limits of the sender and of its pool', async () => {
  const its = await sponsoredRig()
  const user = newUser()
  await delegate(its, user.address)
  await its.rig.chain.setBalance(user.address, 10n ** 18n)
  const move = async (value: bigint, id = 'game', used = 0) => {
    const data = await its.accountCall(user, 1, used, its.game, play(1), value)
    return outcomeOf(its.client.sponsorships.sendSponsoredCall(id, { to: user.address, data }))
  }
  const policies = { max_value: '5', max_value_per_day: '7' }
  const path = { relayer_id: its.relayer.id }
  await its.client.patch('/api/v1/relayers/{relayer_id}', { path, body: { policies } })
  expect(await move(6n)).toBe('403 policies/max_value: 6 wei is above the limit of 5 wei')
  expect(await move(5n)).toBe('accepted')
  await allEnded(its)
  expect(await move(3n, 'game', 1)).toContain('403 policies/max_value_per_day: 3 wei is above the remaining 2 wei')
  const { relayer_id } = await its.rig.addAccount()
  await its.client.pools.create({
    ...{
      id: 'many',
      network: 'local',
      relayer_ids: [relayer_id],
      policies: { max_value: '4', max_value_per_day: '4' },
    },
  })
  const { id: _, ...rules } = its.rules
  await its.client.sponsorships.create({ ...rules, id: 'pooled', pool_id: 'many' })
  expect(await move(5n, 'pooled', 1)).toBe('403 pool/policies/max_value: 5 wei is above the limit of 4 wei')
  expect(await move(4n, 'pooled', 1)).toBe('accepted')
  await allEnded(its)
  expect(await move(1n, 'pooled', 2)).toContain(
    '403 pool/policies/max_value_per_day: 1 wei is above the remaining 0 wei',
  )
})

test('sends the calls of a sponsorship through a pool', async () => {
  const its = await sponsoredRig()
  const members = await Promise.all([its.rig.addAccount(), its.rig.addAccount()])
  await its.client.pools.create({
    id: 'many',
    network: 'local',
    relayer_ids: members.map(({ relayer_id }) => relayer_id),
  })
  const { targets, forwarders, max_gas_per_call } = its.sponsorship
  const created = await its.client.sponsorships.create({
    id: 'pooled',
    pool_id: 'many',
    targets,
    forwarders,
    max_gas_per_call,
    max_fee_per_call: `${maxFee}`,
    max_fee_per_day: `${maxFee * 10n}`,
  })
  expect(created.sponsorship).toMatchObject({ relayer_id: null, pool_id: 'many', network: 'local' })
  const users = Array.from({ length: 6 }, newUser)
  const sent = await Promise.all(
    users.map(async (user) => {
      const body = { to: its.forwarder, data: await its.forward(user) }
      return its.client.sponsorships.sendSponsoredCall('pooled', body)
    }),
  )
  expect(new Set(sent.map(({ relayer_id }) => relayer_id)).size).toBe(2)
  await until('all are executed', async () => (await its.plays()) === 6n)
  const first = sent[0]?.id ?? ''
  expect((await its.client.sponsorships.getSponsoredCall('pooled', first)).id).toBe(first)
  expect(await outcomeOf(its.client.sponsorships.getSponsoredCall('game', first))).toContain('404')

  // Those who sent calls see them by whichever relayer, also one that has left the pool.
  await its.client.pools.update('many', { relayer_ids: [members[1]?.relayer_id ?? ''] })
  for (const { id } of sent) expect((await its.client.sponsorships.getSponsoredCall('pooled', id)).id).toBe(id)

  // A new pool with its id would pay for the calls of this one.
  expect(await outcomeOf(its.client.pools.delete('many'))).toContain(
    '409 /path/pool_id: sponsorships send their calls through it: pooled; delete them first',
  )
  await its.client.sponsorships.delete('pooled')
  await its.client.pools.delete('many')
})

test('pauses, changes and deletes a sponsorship, with its key', async () => {
  const its = await sponsoredRig()
  const plain = { to: its.game, data: play(1) }
  await its.client.sponsorships.update('game', { paused: true })
  expect(await outcomeOf(send(its, plain))).toBe('403 sponsorship/paused: the sponsorship is paused')
  const changed = await its.client.sponsorships.update('game', { paused: false, max_fee_per_call: '1' })
  expect(changed).toMatchObject({ paused: false, max_fee_per_call: '1', targets: its.sponsorship.targets })
  expect(await outcomeOf(send(its, plain))).toContain('403 sponsorship/max_fee_per_call: a fee of up to ')
  const keyId = its.sponsorship.api_key_id
  const more = its.client.apiKeys.update(keyId, { scopes: ['sign'] })
  expect(await outcomeOf(more)).toContain('409 /body: it is the key of a sponsorship')
  expect(await outcomeOf(its.client.apiKeys.delete(keyId))).toContain('409')
  expect(await outcomeOf(its.client.relayers.delete(its.sponsorship.relayer_id as string))).toContain(
    '409 /path/relayer_id: sponsorships send their calls through it: game; delete them first',
  )
  await its.client.sponsorships.delete('game')
  expect(await outcomeOf(send(its, plain))).toContain('401')
  expect((await its.client.get('/api/v1/sponsorships', {})).data).toEqual([])
})

test('refuses a change of a limit that leaves no room for one call, and no other change of such a sponsorship', () => {
  const before = { max_fee_per_call: '2', max_fee_per_day: '1' }
  const change = (changes: object) => () => checkDay('max_fee_per_call', changes, before)
  expect(change({ paused: true })).not.toThrow()
  expect(change({ max_fee_per_day: '2' })).not.toThrow()
  expect(change({ max_fee_per_call: '3' })).toThrow('must be at least max_fee_per_call, which is 3 wei')
})

test('refuses a sponsorship without, or with two, or with unknown senders, and a taken id', async () => {
  const { client } = await startTestService()
  await createRelayer(client)
  const rules = { max_gas_per_call: 21_000, max_fee_per_call: '1', max_fee_per_day: '1' }
  const create = (body: object) => outcomeOf(client.sponsorships.create({ ...rules, ...body } as never))
  expect(await create({})).toContain('400 /body/relayer_id: give exactly one')
  expect(await create({ relayer_id: 'demo', pool_id: 'x' })).toContain('400 /body/pool_id: give exactly one')
  expect(await create({ relayer_id: 'nobody' })).toContain('400 /body/relayer_id: no relayer has this id')
  expect(await create({ pool_id: 'nobody' })).toContain('400 /body/pool_id: no pool has this id')
  expect(await create({ relayer_id: 'demo', max_fee_per_call: '2' })).toContain(
    '400 /body/max_fee_per_day: must be at least max_fee_per_call, which is 2 wei',
  )
  expect(
    await create({ relayer_id: 'demo', targets: [{ address: `0x${'12'.repeat(20)}`, selectors: ['add(uint256)'] }] }),
  ).toContain('400 /body/targets/0/selectors/0: must be a function selector: 0x and 8 hexadecimal digits, or 0x')
  expect(await create({ id: 'game', relayer_id: 'demo' })).toBe('accepted')
  expect(await outcomeOf(client.sponsorships.update('game', { max_fee_per_call: '2' }))).toContain(
    '400 /body/max_fee_per_day: must be at least max_fee_per_call, which is 2 wei',
  )
  expect(await create({ id: 'game', relayer_id: 'demo' })).toContain('409 /body/id')
  expect((await client.get('/api/v1/api-keys', {})).data).toHaveLength(1)
})
