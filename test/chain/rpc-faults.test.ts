import { expect, test } from 'vitest'
import { faults } from '../chaos/faults.ts'
import { wrongIn } from '../chaos/outcome.ts'
import { testFaultProxy } from '../support/chain.ts'
import { clean } from '../support/ledger.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

test('loses and doubles nothing under each kind of fault of a node', async () => {
  const outcomes = await faults(await testRig({ chain: { blockTime_s: 0.25 } }), 5)
  expect(outcomes.flatMap(({ kind, outcome }) => wrongIn(outcome).map((text) => `${kind}: ${text}`))).toEqual([])
})

test.each(['connection_reset', 'http_429', 'http_500', 'internal_error'] as const)(
  'uses the second node while the first one fails (%s), and confirms when both answer',
  async (kind) => {
    const { chain, proxy, client, addAccount } = await testRig({ chain: { blockTime_s: 0.25 } })
    const sound = await testFaultProxy(chain)
    const account = await addAccount({ rpc_urls: [proxy.url, sound.url] })
    await proxy.setFault({ kind })

    for (let value = 1; value <= 10; value += 1) {
      await client().post('/api/v1/relayers/{relayer_id}/transactions', {
        path: { relayer_id: account.relayer_id },
        body: { to: account.address, value: `${value}` },
      })
    }
    await until('all are in blocks', async () => (await account.latest()) === 10)
    const unproven = async () =>
      (await account.transactions()).filter((row) => row.status_reason?.includes('more than half of all')).length
    await until('all wait for the other node', async () => (await unproven()) === 10)
    expect(new Set((await account.transactions()).map(({ status }) => status))).not.toContain('confirmed')
    // The one that fails was tried, and then left alone for longer and longer.
    expect(proxy.counts()[kind]).toBeGreaterThan(0)
    expect(proxy.counts().requests).toBeLessThan(Number(sound.counts().requests))
    await proxy.setFault(undefined)
    await account.finished()
    expect((await account.score()).unfinished).toBe(0)
  },
)

test('disables a relayer with the reason while its node is on another chain, and enables it afterwards', async () => {
  const { chain, proxy, client, addAccount, restart } = await testRig({ chain: { noMining: true } })
  const account = await addAccount()
  const path = { relayer_id: account.relayer_id }
  const relayer = async () => (await client().get('/api/v1/relayers/{relayer_id}', { path })).data
  await account.send(3)

  await restart(() => proxy.setFault({ kind: 'wrong_chain_id' }))
  await until('the relayer is disabled', async () => (await relayer()).system_disabled)
  expect((await relayer()).disabled_reason).toMatch(/on chain 1 and not on 31337/)
  const send = { path, body: { to: account.address, value: '1' } }
  await expect(client().post('/api/v1/relayers/{relayer_id}/transactions', send)).rejects.toMatchObject({
    status: 503,
    details: [
      {
        path: 'network',
        message: expect.stringMatching(
          /^The rpc_urls of the network are on chain 1, and the chain_id of the network \w+ is 31337$/,
        ),
      },
    ],
  })

  await proxy.setFault(undefined)
  await account.send(3)
  await account.finished(chain.mine)
  expect(await relayer()).toMatchObject({ system_disabled: false, disabled_reason: null })
  expect(await account.score()).toEqual(clean(6))
})

test('refuses the first transaction when the node is on another chain from the start, and gives the reason', async () => {
  const { proxy, client, addAccount } = await testRig({ chain: { blockTime_s: 0.25 } })
  await proxy.setFault({ kind: 'wrong_chain_id' })
  const account = await addAccount()
  const path = { relayer_id: account.relayer_id }
  const send = { path, body: { to: account.address, value: '1' } }
  await expect(client().post('/api/v1/relayers/{relayer_id}/transactions', send)).rejects.toMatchObject({ status: 503 })
  const { data: status } = await client().get('/api/v1/relayers/{relayer_id}/status', { path })
  expect(status).toMatchObject({ system_disabled: true, disabled_reason: expect.stringContaining('on chain 1') })

  await proxy.setFault(undefined)
  await account.send(1)
  await account.finished()
  expect(await account.score()).toEqual(clean(1))
})
