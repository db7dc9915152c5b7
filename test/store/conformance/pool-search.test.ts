import { expect, test } from 'vitest'
import type { TransactionFilter } from '../../../server/domain/transaction-rows.ts'
import { newTransaction, plantRelayer } from './relayers.ts'
import { onEveryStore } from './stores.ts'

/** More than a search reads of one relayer. */
const direct = 1_050
const slice = { offset: 0, limit: 10 }

onEveryStore((opened) => {
  test('finds what went through a pool behind any number of transactions that its relayer sent directly', async () => {
    const { store } = opened()
    const relayer = await plantRelayer(opened(), 1)
    await store.createPool({ id: 'pool', name: 'pool', network: 'n', relayer_ids: [relayer.id], policies: {} })
    const poolRowId = (await store.getPool('pool'))?.row_id as number
    const like = { reference: 'order-7', metadata: { customer: '7' } }
    const sent = newTransaction(relayer, '01a21900-0000-7000-8000-000000000000', like)
    const candidates = [{ transaction: sent, weight: 100 }]
    const choice = { pool_row_id: poolRowId, pool_id: 'pool', ordering_key: null, candidates }
    expect((await store.createPoolTransaction(choice)).outcome).toBe('created')
    await Promise.all(
      Array.from({ length: direct }, (_, index) => {
        const id = `01a21900-0001-7000-8000-${String(index).padStart(12, '0')}`
        return store.createTransaction(newTransaction(relayer, id, like))
      }),
    )

    const find = async (filter: Partial<TransactionFilter>) => {
      const found = await store.listTransactionsOf(undefined, slice, {
        status: [],
        pool_row_id: poolRowId,
        ...filter,
      })
      return found === 'too_deep' ? found : [found.total_items, found.items.map(({ id }) => id)]
    }
    const texts = [
      'order-7',
      'order',
      sent.to as string,
      '0x5a5a',
      'customer:7',
      'nonce 0',
      '01a21900-000',
      sent.id,
      'r1',
    ]
    for (const search of texts) expect([search, await find({ search })]).toEqual([search, [1, [sent.id]]])
    for (const filter of [
      { reference: 'order-7' },
      { to: sent.to as string },
      { metadata: { name: 'customer', value: '7' } },
    ])
      expect([filter, await find(filter)]).toEqual([filter, [1, [sent.id]]])
  })
})
