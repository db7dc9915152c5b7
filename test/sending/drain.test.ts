import { Transaction } from 'ethers'
import { expect, test } from 'vitest'
import { clean } from '../support/ledger.ts'
import { testRig } from '../support/test-rig.ts'

test('refuses new transactions of a drained relayer, finishes accepted ones and reports the end, also after a restart', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  const path = { relayer_id: account.relayer_id }
  const allow = (allowTransactions: false | null) =>
    rig
      .client()
      .patch('/api/v1/relayers/{relayer_id}', { path, body: { policies: { allow_transactions: allowTransactions } } })
  const pending = async () =>
    (await rig.client().get('/api/v1/relayers/{relayer_id}/status', { path })).data.pending_transactions_count
  const to = `0x${'5a'.repeat(20)}`
  const [first] = await account.send(2)
  await allow(false)
  expect(await pending()).toBe(2)

  const send = () => rig.client().post('/api/v1/relayers/{relayer_id}/transactions', { path, body: { to, value: '1' } })
  const refused = { status: 403, code: 'policy_violation', details: [{ path: 'policies/allow_transactions' }] }
  await expect(send()).rejects.toMatchObject(refused)
  const unsignedTransaction = Transaction.from({ type: 2, chainId: 31_337, gasLimit: 21_000, to })
    .unsignedSerialized as `0x${string}`
  await expect(
    rig.client().post('/api/v1/relayers/{relayer_id}/sign-transaction', {
      path,
      body: { unsigned_transaction: unsignedTransaction },
    }),
  ).rejects.toMatchObject(refused)
  await expect(
    rig.client().post('/api/v1/relayers/{relayer_id}/sign-authorization', { path, body: { address: to, nonce: 0 } }),
  ).rejects.toMatchObject(refused)
  const { data: judged } = await rig.client().post('/api/v1/relayers/{relayer_id}/transactions/dry-run', {
    path,
    body: { to, value: '1' },
  })
  expect(judged).toMatchObject({ accepted: false, refusals: [{ details: refused.details }] })

  // What does not send anything new still works.
  await rig.client().post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: 'Hello' } })
  await rig.client().put('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
    path: { ...path, transaction_id: first?.id ?? '' },
    // Prices that are enough whether it is signed already or not.
    body: { to, value: first?.value ?? '', max_fee_per_gas: '20000000000', max_priority_fee_per_gas: '5000000000' },
  })

  await rig.restart()
  expect(await pending()).toBe(2)
  await expect(send()).rejects.toMatchObject(refused)
  await account.finished(() => rig.chain.mine())
  expect(await pending()).toBe(0)
  expect(await account.score()).toEqual(clean(2))

  await allow(null)
  expect((await send()).data.status).toBe('pending')
  await account.finished(() => rig.chain.mine())
})
