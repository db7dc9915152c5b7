import { Transaction } from 'ethers/transaction'
import { expect, test } from 'vitest'
import { testLiar } from '../../support/liar.ts'
import { testRig } from '../../support/test-rig.ts'

const count = 40

test.each([
  ['nonce too high', -32_000],
  // Cosmos names both nonces.
  ['invalid nonce; got {got}, expected {expected}: invalid sequence', -32_000],
])('mines all where nodes refuse any nonce above the account’s with "%s"', async (text, code) => {
  const rig = await testRig({ chain: { noMining: true } })
  const node = await testLiar(rig.chain)
  let refused = 0
  node.lie = async (method, [raw]) => {
    if (method !== 'eth_sendRawTransaction') return undefined
    const { nonce, from } = Transaction.from(`${raw}`)
    const next = Number(await rig.chain.rpc('eth_getTransactionCount', [from, 'latest']))
    if (nonce <= next) return undefined
    refused += 1
    const message = text.replace('{got}', `${nonce}`).replace('{expected}', `${next}`)
    return Object.assign(new Error(message), { code })
  }
  const account = await rig.addAccount({ rpc_urls: [node.url] })
  await account.send(count)
  await account.finished(async () => {
    rig.clock.passed_ms += 2_000
    await rig.chain.mine()
  })
  const rows = await account.transactions()
  expect(rows.filter(({ status }) => status === 'confirmed')).toHaveLength(count)
  expect(await account.latest()).toBe(count)
  expect(refused).toBeGreaterThan(0)
})
