import { expect, test } from 'vitest'
import { cap, feeSpike } from './chaos/fees.ts'
import { wrongIn } from './chaos/outcome.ts'
import { testRig } from './support/test-rig.ts'

test('the base fee grows tenfold over 100 pending: all pay more, by 10 % and more each time, and are mined', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  expect(wrongIn(await feeSpike(rig, await rig.addAccount(), 100, false))).toEqual([])
})

test('at the cap they wait, say so, and are mined when the base fee falls, as is what came behind them', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount({ policies: { gas_price_cap: `${cap}` } })
  expect(wrongIn(await feeSpike(rig, account, 20, true))).toEqual([])
})
