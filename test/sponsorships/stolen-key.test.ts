import { randomBytes } from 'node:crypto'
import { Wallet } from 'ethers'
import { expect, test } from 'vitest'
import { toHex } from '../../server/domain/encoding/digest.ts'
import { burn, maxFee, play, type SponsoredRig, sponsoredRig } from '../support/sponsorship.ts'
import { until } from '../support/until.ts'

// `ATTACK_SECONDS=600 npx vitest run --config test/vitest.config.ts test/sponsorships/stolen-key.test.ts` is the long form.

const seconds = Number(process.env.ATTACK_SECONDS ?? 3)
const atOnce = 8
const users = Array.from({ length: 1_000 }, () => new Wallet(toHex(randomBytes(32))))
const budget = maxFee * 50n

const pick = <T>(list: T[]): T => list[Math.floor(Math.random() * list.length)] as T
const anything = () => toHex(randomBytes(4 + Math.floor(Math.random() * 500)))

/** One request with the key: to listed and unlisted contracts, of any user, well formed or not, new or sent before. */
async function attack(its: SponsoredRig, sent: { to: string; data: string }[]): Promise<string> {
  const { game, forwarder, account_code, relayer, rpc } = its
  const user = pick(users)
  const kinds: (() => Promise<{ to: string; data: string }>)[] = [
    async () => ({ to: forwarder, data: await its.forward(user, { nonce: 0n }) }),
    async () => ({ to: forwarder, data: await its.forward(user, { nonce: 0n, gas: 290_000n }) }),
    async () => ({ to: forwarder, data: await its.forward(user, { nonce: 0n, data: burn(1_000) }) }),
    async () => ({ to: forwarder, data: await its.forward(user, { nonce: 0n, to: relayer.address }) }),
    async () => ({ to: forwarder, data: await its.forward(user, { nonce: 0n, signer: pick(users) }) }),
    async () => ({ to: user.address, data: await its.accountCall(user, 1) }),
    async () => ({ to: game, data: play(1 + Math.floor(Math.random() * 1e9)) }),
    async () => ({ to: game, data: `${play(1)}${anything().slice(2)}` }),
    async () => ({ to: game, data: burn(10_000) }),
    async () => ({ to: pick([game, forwarder, account_code, relayer.address, user.address]), data: anything() }),
    async () => sent[0] && pick(sent),
  ].map((kind) => kind as () => Promise<{ to: string; data: string }>)
  const call = await pick(kinds)()
  if (!call) return 'nothing'
  if (sent.length < 5_000) sent.push(call)
  const method = Math.random() < 0.1 ? 'relayer_sendTransactionSync' : 'relayer_sendTransaction'
  const { status, error } = await rpc(method, {
    chainId: '31337',
    ...call,
    ...(method.endsWith('Sync') && { timeout: 50 }),
  })
  return `${status} ${error?.code ?? 'accepted'}`
}

test(`spends at most the budget in ${seconds} s of attacks with a stolen key, and changes nothing else`, {
  timeout: (seconds + 120) * 1_000,
}, async () => {
  const its = await sponsoredRig({ max_fee_per_day: `${budget}` }, { chain: { blockTime_s: 0.25 } })
  const { client, calls } = its
  const state = async () =>
    JSON.stringify([
      (await client.get('/api/v1/relayers', {})).data.map(({ id, policies, paused }) => [id, policies, paused]),
      (await client.get('/api/v1/api-keys', {})).data.map(({ id, scopes }) => [id, scopes]),
      (await client.get('/api/v1/signers', {})).data,
      (await client.get('/api/v1/networks', {})).data,
      { ...(await client.sponsorships.get('game')), usage: null },
    ])
  const before = { balance: await its.balance(), state: await state() }
  const end = performance.now() + seconds * 1_000
  const sent: { to: string; data: string }[] = []
  const outcomes: Record<string, number> = {}
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (performance.now() < end) {
        const outcome = await attack(its, sent)
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
      }
    }),
  )
  await until('what was accepted has ended', async () => {
    const { data } = await client.get('/api/v1/queues', { query: { per_page: 100 } })
    return data.every(({ unfinished_count }) => unfinished_count === 0)
  })
  const spent = before.balance - (await its.balance())
  process.stdout.write(`stolen key: ${JSON.stringify(outcomes)}; spent ${spent} of ${budget} wei\n`)
  expect(spent).toBeGreaterThan(0n)
  expect(spent).toBeLessThanOrEqual(budget)
  expect((await client.sponsorships.get('game')).usage.used).toBe(`${spent}`)
  expect(await state()).toBe(before.state)
  await expect(calls.sponsorships.update('game', { max_fee_per_day: `${budget * 2n}` })).rejects.toMatchObject({
    status: 403,
  })
})
