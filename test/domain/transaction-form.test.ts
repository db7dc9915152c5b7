import { describe, expect, test } from 'vitest'
import type { Prices } from '../../server/domain/fees.ts'
import { formOf, plainForm, priceKindOf, type TransactionType, typeOf } from '../../server/domain/transaction-form.ts'

const legacy: Prices = { kind: 'legacy', gas_price: 1n }
const paying: Prices = { kind: 'eip1559', max_fee_per_gas: 2n, max_priority_fee_per_gas: 1n }
const listed = [{ address: `0x${'aa'.repeat(20)}`, storage_keys: [] }]
const authorization = {
  chain_id: 1,
  address: `0x${'bb'.repeat(20)}`,
  nonce: 0,
  r: '0x1',
  s: '0x1',
  y_parity: 0 as const,
}
const none = { access_list: null, authorization_list: null }
const lists = [
  none,
  { ...none, access_list: [] },
  { ...none, access_list: listed },
  { ...none, authorization_list: [authorization] },
  { access_list: listed, authorization_list: [authorization] },
  { ...none, authorization_list: [] },
]

describe('the type of a transaction', () => {
  test.each<[TransactionType | undefined, (typeof lists)[number], Prices['kind']]>([
    [0, none, 'legacy'],
    [1, { ...none, access_list: [] }, 'legacy'],
    [2, none, 'eip1559'],
    [2, { ...none, access_list: listed }, 'eip1559'],
    [4, { ...none, authorization_list: [authorization] }, 'eip1559'],
    [undefined, { ...none, authorization_list: [authorization] }, 'legacy'],
  ])('%s for %o at prices of the kind %s', (type, its, kind) => {
    expect(typeOf(its, kind)).toBe(type)
    if (type !== undefined) expect(priceKindOf(type)).toBe(kind)
  })
})

describe('the form of a transaction', () => {
  test('has all lists that were given, or does not exist', () => {
    let made = 0
    for (const type of [0, 1, 2, 4] as const) {
      for (const its of lists) {
        for (const prices of [legacy, paying]) {
          try {
            const form = formOf(type, its, prices)
            made += 1
            expect(form).toMatchObject({ type, prices })
            expect('authorization_list' in form ? form.authorization_list : []).toEqual(its.authorization_list ?? [])
            expect('access_list' in form ? form.access_list : []).toEqual(its.access_list ?? [])
          } catch (error) {
            expect((error as Error).message).toContain(`type ${type} cannot have these lists`)
          }
        }
      }
    }
    // Type 0 without lists (2), type 1 and 2 without authorizations (4 each), type 4 with them (2).
    expect(made).toBe(12)
  })

  test('of a plain transfer follows from its prices', () => {
    expect([plainForm(legacy).type, plainForm(paying).type]).toEqual([0, 2])
  })
})
