import { expect, test } from 'vitest'
import { testRig } from '../support/test-rig.ts'

// JUMPDEST, PUSH1 0, JUMP: a loop without end. INVALID and REVERT, which fail otherwise.
const [loop, revert] = ['0x5b600056', '0x60006000fd']

test('distinguishes out of gas from a revert', async () => {
  const { addAccount, chain } = await testRig({ chain: { noMining: true } })
  const account = await addAccount()
  await account.send(1, { to: null, data: loop, gas_limit: 100_000 })
  await account.send(1, { to: null, data: revert, gas_limit: 100_000 })
  await account.finished(chain.mine)
  const rows = (await account.transactions()).reverse()
  expect(rows.map(({ status, status_reason }) => [status, status_reason])).toEqual([
    ['failed', 'Out of gas: its gas limit (100000) was too low'],
    ['failed', 'Reverted'],
  ])
})
