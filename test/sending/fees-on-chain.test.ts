import { expect, test } from 'vitest'
import { cap, feeSpike } from '../chaos/fees.ts'
import { wrongIn } from '../chaos/outcome.ts'
import { clean } from '../support/ledger.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

test('raises the price of 100 pending transactions by at least 10 % each time while the base fee grows tenfold', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  expect(wrongIn(await feeSpike(rig, await rig.addAccount(), 100, false))).toEqual([])
})

test('keeps transactions waiting at the cap with the reason, and sends them and their successors when the base fee falls', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount({ policies: { gas_price_cap: `${cap}` } })
  expect(wrongIn(await feeSpike(rig, account, 20, true))).toEqual([])
})

test('keeps a cancellation waiting at the cap with the reason, and shows in the end why the transaction was canceled', async () => {
  const { chain, client, addAccount } = await testRig({ chain: { noMining: true } })
  const account = await addAccount()
  const path = { relayer_id: account.relayer_id }
  const capAt = (gasPriceCap: string | null) =>
    client().patch('/api/v1/relayers/{relayer_id}', { path, body: { policies: { gas_price_cap: gasPriceCap } } })
  const first = async () => (await account.transactions()).at(-1)
  const [sent] = await account.send(2)
  await until('the node has it', async () => (await first())?.status === 'submitted')

  await capAt(sent?.max_fee_per_gas ?? '')
  await client().delete('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
    path: { ...path, transaction_id: sent?.id ?? '' },
  })
  const isAtCap = async () => /^Canceled by request; Waits: .*gas_price_cap/.test((await first())?.status_reason ?? '')
  await until('it says that it waits', isAtCap)
  await capAt(null)
  await until('it is signed', async () => (await first())?.hash !== null && !(await isAtCap()))
  const cancel = (await first())?.hash
  await until('the node has the cancel', async () => (await chain.rpc('eth_getTransactionByHash', [cancel])) !== null)
  await account.finished(chain.mine)
  expect(await first()).toMatchObject({ status: 'canceled', status_reason: 'Canceled by request', hash: cancel })
  expect(await account.score()).toEqual({ ...clean(2), withdrawn: 1 })
})
