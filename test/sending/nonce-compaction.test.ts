import { expect, test } from 'vitest'
import { clean } from '../support/ledger.ts'
import type { Rig } from '../support/rig.ts'
import { rowsOf } from '../support/service-database.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

/** More than two batches. */
const count = 520
const far = 100_000
const unsigned = "status = 'pending' AND hash IS NULL"

/** Leaves gaps before unsigned transactions: `spread` maps a nonce to a higher one, in SQL. */
async function spreadNonces(rig: Rig, spread: string): Promise<void> {
  // In two steps, because nonces are unique at any time.
  await rowsOf(rig, `UPDATE transactions SET nonce = nonce + ${far} WHERE ${unsigned}`)
  const back = spread.replaceAll('nonce', `(nonce - ${far})`)
  await rowsOf(rig, `UPDATE transactions SET nonce = ${back} WHERE ${unsigned}`)
  await rowsOf(rig, 'UPDATE accounts SET next_nonce = (SELECT max(nonce) + 1 FROM transactions)')
}

test.each([
  ['each has a gap before it', 'nonce * 2 + 5'],
  ['the first ones were moved before an interruption', 'nonce + CASE WHEN nonce < 300 THEN 0 ELSE 900 END'],
])(
  'gives lower nonces to very many unsigned transactions in their order, while others are accepted: %s',
  async (_, spread) => {
    const rig = await testRig({ chain: { noMining: true } })
    const account = await rig.addAccount()
    await account.send(count)
    const ofStatus = async (status: string) => (await account.transactions()).filter((row) => row.status === status)
    await until('some are with the node', async () => (await ofStatus('submitted')).length > 0)
    await rig.restart(() => spreadNonces(rig, spread))
    const path = { relayer_id: account.relayer_id }
    await Promise.all([
      rig.client().post('/api/v1/relayers/{relayer_id}/nonce/reconcile', { path }),
      account.send(10),
      account.send(10),
    ])
    await account.finished(rig.chain.mine)

    const rows = (await account.transactions()).reverse()
    // No transfer fills a gap.
    expect(rows.map(({ status }) => status)).toEqual(Array(count + 20).fill('confirmed'))
    expect(rows.slice(0, count).map(({ nonce }) => nonce)).toEqual(Array.from({ length: count }, (_, nonce) => nonce))
    expect(await account.score()).toEqual(clean(count + 20))
  },
)
