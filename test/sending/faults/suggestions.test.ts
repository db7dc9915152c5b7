import { expect, test } from 'vitest'
import type { TransactionSuggestion } from '../../../client/index.ts'
import { testLiar } from '../../support/liar.ts'
import type { Account, Rig } from '../../support/rig.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const gwei = 10n ** 9n
const transaction = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const firstOf = async (account: Account) => (await account.transactions())[0]
const explain = ({ client }: Rig, transactionId: string) => client().transactions.getExplanation(transactionId)

/** Carries out a suggestion as it stands; an operation that refuses it throws. */
async function carryOut(
  { client }: Rig,
  { operation, relayer_id, transaction_id, body }: TransactionSuggestion,
): Promise<void> {
  const path = { relayer_id, transaction_id: transaction_id as string }
  if (operation === 'updateRelayer') {
    await client().patch('/api/v1/relayers/{relayer_id}', { path, body: body as never })
  } else if (operation === 'speedUpTransaction')
    await client().post(`${transaction}/speed-up`, { path, body: body as never })
  else if (operation === 'cancelTransaction') await client().delete(transaction, { path })
  else expect(operation, 'a step outside the API').toBeNull()
}

/** A transaction that waits for each reason in its turn, and how the reason comes about. */
const reasons: Record<
  string,
  (rig: Rig, account: Account, refuse: (text: string | undefined) => void, index: number) => Promise<void>
> = {
  base_fee: async (rig, account, _, index) => {
    await account.send(1)
    await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
    // Above twice the base fee of the round before.
    await rig.chain.setBaseFee(50n * gwei * 20n ** BigInt(index))
    await rig.chain.mine()
  },
  fee_too_low: async (rig, account) => {
    await rig.chain.setBaseFee(50n * gwei)
    await rig.chain.mine()
    await account.send(1, { gas_price: `${20n * gwei}`, gas_limit: 21_000 })
  },
  node: async (_, account, refuse) => {
    refuse('the node is busy with something else')
    await account.send(1)
  },
  paused: async (rig, account, refuse) => {
    refuse('the node is busy with something else')
    await account.send(1)
    await until('it is signed', async () => (await firstOf(account))?.status === 'sent')
    await rig.client().patch('/api/v1/relayers/{relayer_id}', {
      path: { relayer_id: account.relayer_id },
      body: { paused: true },
    })
  },
}

test.each(Object.keys(reasons))('accepts each suggestion for a transaction that waits for %s', async (reason) => {
  const rig = await testRig({ chain: { noMining: true } })
  const node = await testLiar(rig.chain)
  const refuse = (text: string | undefined) => {
    node.lie = (method) => (text !== undefined && method === 'eth_sendRawTransaction' ? new Error(text) : undefined)
  }
  let tried = 0
  for (let index = 0; tried === index; index += 1) {
    const account = await rig.addAccount({ rpc_urls: [node.url] })
    await reasons[reason]?.(rig, account, refuse, index)
    const { id = '' } = (await firstOf(account)) ?? {}
    let explained = await explain(rig, id)
    await until('it waits', async () => {
      explained = await explain(rig, id)
      return explained.wait_reason === reason
    })
    const suggestion = explained.suggestions[index]
    refuse(undefined)
    if (suggestion) {
      await carryOut(rig, suggestion)
      tried += 1
    }
    await rig.client().patch('/api/v1/relayers/{relayer_id}', {
      path: { relayer_id: account.relayer_id },
      body: { paused: false },
    })
    await account.finished(async () => {
      rig.clock.passed_ms += 16_000
      await rig.chain.mine()
    })
  }
  expect(tried).toBeGreaterThan(0)
})
