import type { Wallet } from 'ethers'
import { expect, test } from 'vitest'
import { RelayerError } from '../../client/index.ts'
import { newUser, type SponsoredRig, sponsoredRig } from '../support/sponsorship.ts'
import { until } from '../support/until.ts'

type Call = Parameters<SponsoredRig['calls']['sponsorships']['sendSponsoredCall']>[1]

/** The id of the call, or the refusal. */
const send = async ({ calls }: SponsoredRig, call: Call) =>
  calls.sponsorships.sendSponsoredCall('game', call).then(
    ({ id }) => id,
    (error) => {
      if (!(error instanceof RelayerError)) throw error
      return `${error.status} ${error.details[0]?.path}: ${error.details[0]?.message}`
    },
  )
const shown = (its: SponsoredRig, id: string) => its.calls.sponsorships.getSponsoredCall('game', id)
const accepted = (outcomes: string[]) => outcomes.filter((outcome) => outcome.startsWith('0x'))
const mined = (its: SponsoredRig, ids: string[]) =>
  until(
    'all are mined',
    async () => (await Promise.all(ids.map((id) => shown(its, id)))).every(({ status }) => status === 'succeeded'),
    its.rig.chain.mine,
  )

/** Makes the account run the code, by its first call. */
async function delegate(its: SponsoredRig, user: Wallet, code: string, data: string): Promise<void> {
  const id = await send(its, { to: user.address, data, authorization_list: [await its.authorize(user, code)] })
  await mined(its, [id])
}

const path = ({ relayer }: SponsoredRig) => ({ relayer_id: relayer.id })
const transactionsOf = async (its: SponsoredRig) =>
  (await its.client.get('/api/v1/relayers/{relayer_id}/transactions/', { path: path(its) })).data
const transactionOf = async (its: SponsoredRig, id: string) => {
  const { transaction_id } = await shown(its, id)
  const path = { relayer_id: its.relayer.id, transaction_id }
  return (await its.client.get('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', { path })).data
}
const known = ({ rig }: SponsoredRig, hash: string | null): Promise<unknown> =>
  rig.chain.rpc('eth_getTransactionByHash', [hash])

test('sends 1 of 12 calls of an account with one nonce, and refuses the others before they cost gas', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true } })
  const user = newUser()
  await delegate(its, user, its.account_code, await its.accountCall(user, 1))
  const calls = await Promise.all(Array.from({ length: 12 }, (_, index) => its.accountCall(user, index + 2, 1)))
  const outcomes = await Promise.all(calls.map((data) => send(its, { to: user.address, data })))
  expect(accepted(outcomes)).toHaveLength(1)
  expect(new Set(outcomes.filter((its) => !its.startsWith('0x')))).toEqual(
    new Set(['409 /body/data: another call of this user waits, and a nonce orders them; send it afterwards']),
  )
  await mined(its, accepted(outcomes))
  expect((await transactionsOf(its)).map(({ status }) => status)).toEqual(['confirmed', 'confirmed'])
  expect(await its.plays(user.address)).toBe(2n)
  expect(await send(its, { to: user.address, data: await its.accountCall(user, 99, 1) })).toContain('400 /body: would')
})

test('sends calls of an account with other nonce keys at the same time, if its code is known to have keys', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true } })
  const user = newUser()
  await its.client.sponsorships.update('game', { delegates: [its.account_code, its.keyed_code] })
  await delegate(its, user, its.keyed_code, await its.keyedCall(user, 1, 1n))
  const all = async (...calls: Promise<string>[]) =>
    Promise.all(calls.map(async (data) => send(its, { to: user.address, data: await data })))
  const [first, second] = await all(its.keyedCall(user, 2, 2n), its.keyedCall(user, 3, 3n))
  expect(accepted([first as string, second as string])).toHaveLength(1)
  await mined(its, accepted([first as string, second as string]))

  await its.client.sponsorships.update('game', { keyed_nonce_delegates: [its.keyed_code] })
  const outcomes = await all(
    ...[its.keyedCall(user, 4, 4n), its.keyedCall(user, 5, 5n), its.keyedCall(user, 6, 6n)],
    ...[its.keyedCall(user, 7, 6n), its.keyedCall(user, 8, 1n, 1)],
  )
  expect(accepted(outcomes)).toHaveLength(4)
  expect(accepted(outcomes.slice(2, 4))).toHaveLength(1)
  await mined(its, accepted(outcomes))
})

test('does not price a call again after the deadline that its user signed: it is withdrawn', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true } })
  const user = newUser()
  const deadline = Math.floor(Date.now() / 1_000) + 3_600
  const id = await send(its, { to: its.forwarder, data: await its.forward(user, { deadline }) })
  await until('it is submitted', async () => (await shown(its, id)).status === 'submitted')
  const before = await transactionOf(its, id)
  its.rig.clock.passed_ms += 2 * 3_600_000
  const newest = async () => (await transactionOf(its, id)).hash
  await until(
    'a node has a newer transaction',
    async () => (await newest()) !== before.hash && (await known(its, await newest())) !== null,
  )
  expect(await known(its, await newest())).toMatchObject({ to: its.relayer.address, input: '0x' })
  await until('it has ended', async () => (await shown(its, id)).status === 'rejected', its.rig.chain.mine)
  expect(await shown(its, id)).toMatchObject({ error: { code: 'expired', message: 'valid_until has passed' } })
  expect(await transactionOf(its, id)).toMatchObject({ status: 'expired', receipt: { gas_used: 21_000 } })
  expect(await its.plays()).toBe(0n)
})
