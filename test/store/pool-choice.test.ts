import { expect, test } from 'vitest'
import type { NewTransaction, PoolTransaction } from '../../server/domain/new-transaction.ts'
import { acceptInPool, type InsertState, orderOf, type PoolState } from '../../server/store/queries/insert-rules.ts'

const at = '2026-01-01T00:00:00.000Z'

interface Its {
  unfinished?: number
  weight?: number
  newest?: number
  funds?: string
}

/** Relayers 1, 2, … with these properties. */
function choose(its: Its[], { ordering_key = null as string | null, pinned = new Map<string, number>() } = {}) {
  const state: InsertState = {
    row_ids: { transactions: [100, 101], data: [] },
    known: new Map(),
    relayers: new Map(
      its.map(({ unfinished = 0 }, index) => [
        index + 1,
        { last_sequence: 0, unfinished: { count: unfinished, bytes: 0 } },
      ]),
    ),
    accounts: new Map(),
    exclusive: new Set(),
    sent: new Map(),
    held: new Set(),
    limits: { bucket: 0, spend: () => ({ spent: null }), write: async () => undefined },
    accepted: [],
    refills: new Map(),
  }
  const pools: PoolState = {
    pinned,
    newest: new Map(its.flatMap(({ newest }, i) => (newest ? [[i + 1, newest]] : []))),
  }
  const candidates: PoolTransaction['candidates'] = its.map(({ weight = 100, funds = '1000' }, index) => ({
    weight,
    transaction: {
      ...{ id: 'id', relayer_row_id: index + 1, relayer_id: `r${index + 1}`, chain_id: 1, from: `0x0${index + 1}` },
      ...{ to: '0x01', value: '1', data: null, gas_limit: 1, gas_price: '1', max_fee_per_gas: null },
      ...{
        max_priority_fee_per_gas: null,
        speed: null,
        valid_until: null,
        intent: 'send',
        type: 0,
        status_reason: null,
      },
      funds,
    } as NewTransaction,
  }))
  const { creation, order } = acceptInPool(
    state,
    pools,
    { created_at: at, caller: 'someone' },
    { pool_row_id: 9, pool_id: 'nine', ordering_key, candidates },
  )
  const relayer = creation.outcome === 'created' ? creation.transaction.relayer_id : creation.outcome
  return { relayer, order, pinned, accepted: state.accepted.length }
}

test.each<[string, Its[], string]>([
  ['the fewest unfinished', [{ unfinished: 3 }, { unfinished: 1 }, { unfinished: 2 }], 'r2'],
  ['for its weight', [{ unfinished: 3, weight: 400 }, { unfinished: 1 }], 'r1'],
  ['idle the longest', [{ newest: 8 }, { newest: 5 }, { newest: 7 }], 'r2'],
  ['never used', [{ newest: 8 }, {}, { newest: 7 }], 'r2'],
  ['one with enough funds', [{ funds: '0' }, { unfinished: 5 }], 'r2'],
  ['no funds', [{ funds: '0' }, { funds: '0', unfinished: 5 }], 'too_little'],
])('chooses: %s', (_, its, wanted) => expect(choose(its).relayer).toBe(wanted))

test('an ordering key keeps its relayer, and accepts nothing when that is not the first candidate', () => {
  const orderingKey = 'customer'
  const first = choose([{}, {}], { ordering_key: orderingKey })
  expect(first).toMatchObject({
    relayer: 'r1',
    order: { transaction_row_id: 100, pool_row_id: 9, ordering_key: orderingKey },
  })
  expect(first.pinned.get(orderOf(9, orderingKey))).toBe(1)
  const pinnedTo = (rowId: number) => ({
    ordering_key: orderingKey,
    pinned: new Map([[orderOf(9, orderingKey), rowId]]),
  })
  expect(choose([{ unfinished: 9 }, {}], pinnedTo(1)).relayer).toBe('r1')
  expect(choose([{ funds: '0' }, {}], pinnedTo(1)).relayer).toBe('too_little')
  // The refusal names the first candidate: another one's would be told with its name.
  expect(choose([{}, { funds: '0' }], pinnedTo(2))).toMatchObject({ relayer: 'pinned', accepted: 0 })
  expect(choose([{}, {}], pinnedTo(3))).toMatchObject({ relayer: 'pinned', accepted: 0 })
})
