import { JsonRpcProvider, Wallet } from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import type { Anvil } from '../support/anvil.ts'
import { clean, minedBy } from '../support/ledger.ts'
import type { Account, Rig } from '../support/rig.ts'
import { backUp, restore, rowsOf } from '../support/service-database.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const nonceOf = async ({ client }: Rig, { relayer_id }: Account) =>
  (await client().get('/api/v1/relayers/{relayer_id}/nonce', { path: { relayer_id } })).data

const heal = async ({ client }: Rig, { relayer_id }: Account) =>
  (await client().post('/api/v1/relayers/{relayer_id}/nonce/reconcile', { path: { relayer_id } })).data

/** The account's key in other hands; answers the hash. */
function elsewhere(chain: Anvil, key: string) {
  const provider = new JsonRpcProvider(chain.url, chain.chain_id, { staticNetwork: true })
  onTestFinished(() => provider.destroy())
  const wallet = new Wallet(key, provider)
  return async (nonce: number) => {
    const fees = { maxFeePerGas: 100n * 10n ** 9n, maxPriorityFeePerGas: 50n * 10n ** 9n }
    const { hash } = await wallet.sendTransaction({ to: wallet.address, value: 0, nonce, gasLimit: 21_000, ...fees })
    return hash
  }
}

async function edit(rig: Rig, ...statements: string[]) {
  for (const statement of statements) await rowsOf(rig, statement)
}

const knownKey = ({ chain }: Rig) => chain.accounts[1]?.key as string

test('follows the chain with the nonce counter of a key that was used elsewhere before, and reports it', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount({ key: knownKey(rig) })
  const use = elsewhere(rig.chain, knownKey(rig))
  const foreign = new Set([await use(0), await use(1), await use(2)])
  await rig.chain.mine()

  expect(await nonceOf(rig, account)).toMatchObject({ status: 'chain_ahead', next_nonce: 0, chain_latest_nonce: 3 })
  expect(await heal(rig, account)).toMatchObject({ status: 'in_step', next_nonce: 3 })
  const sent = await account.send(5)
  expect(sent.map(({ nonce }) => nonce)).toEqual([3, 4, 5, 6, 7])
  await account.finished(rig.chain.mine)
  expect(await account.score(foreign)).toEqual(clean(5))
})

test('gives another nonce to a transaction that loses its nonce to another use of the key', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount({ key: knownKey(rig) })
  const use = elsewhere(rig.chain, knownKey(rig))
  const foreign = new Set<string>()
  for (let round = 0; round < 5; round += 1) {
    const sent = new Set((await account.send(3)).map(({ id }) => id))
    const own = async () => (await account.transactions()).filter(({ id }) => sent.has(id))
    await until('the node has the round', async () => (await own()).every(({ status }) => status === 'submitted'))
    // It pays more than ours, and takes its place.
    foreign.add(await use((await account.latest()) + 1))
    await rig.chain.mine()
  }
  await account.finished(rig.chain.mine)

  const mined = await minedBy(rig.chain, account.address)
  expect(mined.filter(({ hash }) => foreign.has(hash))).not.toHaveLength(0)
  expect((await account.transactions()).map(({ status }) => status)).toEqual(Array(15).fill('confirmed'))
  expect(await account.score(foreign)).toEqual(clean(15))
})

test('lowers a counter that is ahead of the chain, if nothing was signed, with the next transaction or by heal', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  await account.send(2)
  await account.finished(rig.chain.mine)
  const widen = `UPDATE accounts SET next_nonce = next_nonce + 3 WHERE address = '${account.address}'`

  await rig.restart(() => edit(rig, widen))
  expect(await nonceOf(rig, account)).toMatchObject({
    status: 'gap',
    next_nonce: 5,
    chain_latest_nonce: 2,
    gaps: [2, 3, 4],
  })
  const sent = await account.send(2)
  expect(sent.map(({ nonce }) => nonce)).toEqual([5, 6])
  await account.finished(rig.chain.mine)
  expect((await account.transactions()).map(({ nonce }) => nonce)).toEqual([3, 2, 1, 0])
  expect(await account.score()).toEqual(clean(4))

  await rig.restart(() => edit(rig, widen))
  expect(await heal(rig, account)).toMatchObject({ gaps: [], next_nonce: 4, status: 'in_step' })
  expect(await account.score()).toEqual(clean(4))
})

test('fills a gap below a signed nonce with later transactions first, as often as the policy allows, also after a restart', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount({ policies: { max_gap_fills_per_hour: 2 } })
  const [first] = await account.send(1)
  await until('it is with the node', async () => (await account.transactions())[0]?.status === 'submitted')
  await rig.restart(async () => {
    const its = `WHERE id = '${first?.id}'`
    // As if it had been signed after the counter was raised by 4 on a false answer.
    await edit(
      rig,
      `UPDATE transactions SET nonce = 4, resign = 1 ${its}`,
      'UPDATE accounts SET next_nonce = 5',
      'DELETE FROM attempts',
    )
    return rig.chain.dropAll()
  })
  await account.send(1)
  await until('what may be filled is', async () => (await account.transactions()).length === 4)
  await until('three are mined', async () => (await account.latest()) === 3, rig.chain.mine)
  expect(await nonceOf(rig, account)).toMatchObject({ status: 'gap', gaps: [3] })
  await rig.restart()
  expect(await heal(rig, account)).toMatchObject({ status: 'gap', gaps: [3] })
  // Whatever is sent next closes it.
  await account.send(1)
  await account.finished(rig.chain.mine)
  const rows = await account.transactions()
  expect(rows.filter(({ status }) => status === 'canceled')).toHaveLength(2)
  expect(await account.score()).toEqual(clean(3))
})

test('sends nothing twice and reuses no nonce after a restore of an older backup', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  await account.send(3)
  await account.finished(rig.chain.mine)
  const inFlight = await account.send(3)
  await until('they are with the node', async () => (await account.transactions())[0]?.status === 'submitted')
  await rig.restart(() => backUp(rig))

  const later = await account.send(5)
  await account.finished(rig.chain.mine)
  const forgotten = new Set(later.map(({ nonce }) => nonce))
  const mined = await minedBy(rig.chain, account.address)
  const foreign = new Set(mined.filter(({ nonce }) => forgotten.has(nonce)).map(({ hash }) => hash))

  await rig.restart(async () => {
    await restore(rig)
    // As if the backup were from between acceptance and signature.
    const unsigned = `SELECT row_id FROM transactions WHERE id = '${inFlight.at(-1)?.id}'`
    await edit(
      rig,
      `DELETE FROM attempts WHERE transaction_row_id = (${unsigned})`,
      `UPDATE transactions SET status = 'pending', hash = NULL, signature = NULL, sent_at = NULL WHERE row_id = (${unsigned})`,
    )
  })
  const sent = await account.send(2)
  expect(sent.map(({ nonce }) => nonce)).toEqual([11, 12])
  await account.finished(rig.chain.mine)
  const takenOver = (await account.transactions()).find(({ id }) => id === inFlight.at(-1)?.id)
  expect(takenOver).toMatchObject({ status: 'confirmed', nonce: 5 })
  expect(await account.score(foreign)).toEqual(clean(13))
})

test('does not block later transactions by one whose outcome a pruned node cannot show', async () => {
  const rig = await testRig({ chain: { noMining: true, args: ['--prune-history', '1'] } })
  const account = await rig.addAccount()
  await account.send(120)
  await account.finished(rig.chain.mine)
  await rig.chain.mine(5)
  await rig.restart(() =>
    edit(
      rig,
      'DELETE FROM attempts',
      "UPDATE transactions SET status = 'pending', hash = NULL, block_number = NULL, block_hash = NULL",
    ),
  )
  await account.send(3)
  await until('what is new is mined', async () => (await account.latest()) === 123, rig.chain.mine)
  expect(await account.score()).toMatchObject({ accepted: 123, lost: 0, twice: 0, gaps: 0 })
})

test.each([
  ['at rest', 0],
  ['under traffic', 3],
])('recognizes and explains a restarted development chain, %s, and does not heal it', async (_, unfinished) => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  const path = { relayer_id: account.relayer_id }
  await account.send(3)
  await account.finished(rig.chain.mine)
  await account.send(unfinished)

  await rig.chain.restart()
  await rig.chain.setBalance(account.address, 10n ** 20n)
  await until('GET nonce says so', async () => (await nonceOf(rig, account)).status === 'chain_restarted')
  expect((await nonceOf(rig, account)).summary).toMatch(/was restarted/)
  const send = { path, body: { to: account.address, value: '1' } }
  const post = () => rig.client().post('/api/v1/relayers/{relayer_id}/transactions', send)
  const isRefused = () =>
    post().then(
      () => false,
      ({ status }) => status === 503,
    )
  // A response of the chain is reused for a second.
  await until('POST is refused', isRefused)
  await expect(post()).rejects.toMatchObject({
    details: [{ path: 'relayer', message: expect.stringContaining('was restarted') }],
  })
  await expect(heal(rig, account)).rejects.toMatchObject({ status: 409 })
  const { data: status } = await rig.client().get('/api/v1/relayers/{relayer_id}/status', { path })
  expect(status).toMatchObject({ system_disabled: true, disabled_reason: expect.stringContaining('was restarted') })
  await rig.chain.mine(2)
  expect(await account.latest()).toBe(0)
})
