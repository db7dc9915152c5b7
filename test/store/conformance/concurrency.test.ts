import { expect, test } from 'vitest'
import type { TransactionUpdate } from '../../../server/domain/transaction-rows.ts'
import { endAs } from '../../support/ending.ts'
import { newTransaction, plantRelayer } from './relayers.ts'
import { onEveryStore } from './stores.ts'

onEveryStore((opened) => {
  test('enforces limits, nonces, idempotency keys and revisions for 100 concurrent callers', async () => {
    const relayer = await plantRelayer(opened(), 1)
    const { store } = opened()
    const { chain_id, address, row_id } = relayer
    const callers = Array.from({ length: 100 }, (_, index) => index)

    const spend = { policy: 'max_value_per_day' as const, asset: 'wei', amount: '1', limit: '37' }
    const spent = await Promise.all(
      callers.map(() => store.spend({ account: { chain_id, address }, spending: [spend] })),
    )
    const taken = spent.flatMap((one) => ('outcome' in one ? [] : [one.spent ?? '']))
    expect(taken).toHaveLength(37)
    await Promise.all(taken.slice(0, 5).map((one) => store.unspend({ chain_id, address }, one)))
    const again = await Promise.all(
      callers.map(() => store.spend({ account: { chain_id, address }, spending: [spend] })),
    )
    expect(again.filter((one) => !('outcome' in one))).toHaveLength(5)

    const idempotency = (index: number) => ({ caller: 'c', key: `k${index % 50}`, body_hash: 'x' })
    const created = await Promise.all(
      callers.map((index) =>
        store.createTransaction(newTransaction(relayer, `t${index}`, { idempotency: idempotency(index) })),
      ),
    )
    expect(created.filter(({ outcome }) => outcome === 'created')).toHaveLength(50)
    expect(created.filter(({ outcome }) => outcome === 'replayed')).toHaveLength(50)
    const holders = await store.holders({ chain_id, address }, { from: 0, to: 1_000 }, 1_000)
    expect(holders.map(({ nonce }) => nonce)).toEqual(Array.from({ length: 50 }, (_, nonce) => nonce))
    expect((await store.getAccount(chain_id, address)).next_nonce).toBe(50)

    const first = await store.firstInLine(row_id)
    const { row_id: transactionRowId = 0, revision = 0 } = first ?? {}
    const moved = await Promise.all(
      callers.map((index) =>
        store.move([{ row_id: transactionRowId, revision, set: { status: 'sent', status_reason: `${index}` } }]),
      ),
    )
    expect(moved.flat().filter((row) => row !== undefined)).toHaveLength(1)
    expect(await store.countUnfinished(row_id)).toBe(50)
  })

  test('a signature and a transaction in one commit never exceed a limit together', async () => {
    const { store } = opened()
    for (const [at, isSignatureFirst] of [true, false].entries()) {
      const relayer = await plantRelayer(opened(), 20 + at)
      const spending = [{ policy: 'max_value_per_day' as const, asset: 'wei', amount: '6', limit: '10' }]
      const sign = () => store.spend({ account: relayer, spending })
      const send = () => store.createTransaction(newTransaction(relayer, `beside-a-signature-${at}`, { spending }))
      const both = await Promise.all(isSignatureFirst ? [sign(), send()] : [send(), sign()])
      expect(both.filter((one) => 'outcome' in one && one.outcome === 'over_limit')).toHaveLength(1)
    }
  })

  test('accepts one refill of a relayer for 20 servers that decided the same, and the next one after its end', async () => {
    const { store } = opened()
    const [treasury, relayer] = [await plantRelayer(opened(), 30), await plantRelayer(opened(), 31)]
    const send = (id: string, after: number | null) => {
      const refill = { relayer_row_id: relayer.row_id, asset: 'coin', amount: '1', after }
      return store.createTransaction(newTransaction(treasury, id, { refill }))
    }
    const outcomes = async (ids: string[], after: number | null) =>
      (await Promise.all(ids.map((id) => send(id, after)))).map(({ outcome }) => outcome).sort()
    const ids = Array.from({ length: 20 }, (_, index) => `refill-${index}`)
    expect(await outcomes(ids, null)).toEqual(['created', ...Array(19).fill('refilled')])
    const [first] = await store.refills(relayer.row_id)
    expect(first).toMatchObject({ is_open: true, status: 'pending', mined_nonce: null, treasury_id: treasury.id })
    expect(await outcomes(['beside it'], first?.row_id ?? 0)).toEqual(['refilled'])

    const row = await store.firstInLine(treasury.row_id)
    const block = { block_number: 5, block_hash: `0x${'11'.repeat(32)}` }
    const change = async (its: Pick<TransactionUpdate, 'set' | 'end'>) => {
      const { row_id = 0, revision = 0 } =
        (await store.holders({ chain_id: 1, address: treasury.address }, { from: 0, to: 1 }, 1))[0] ?? {}
      expect(await store.move([{ row_id, revision, ...its }])).not.toContain(undefined)
    }
    expect(row?.id).toBe(first?.transaction_id)
    await change({ set: block, end: endAs('confirmed') })
    expect(await store.refills(relayer.row_id)).toMatchObject([{ is_open: false, mined_nonce: 0 }])
    // A reorganization reopens it, whoever looked before.
    await change({ set: { status: 'submitted', block_number: null, block_hash: null } })
    expect(await outcomes(['by an older look'], first?.row_id ?? 0)).toEqual(['refilled'])
    await change({ set: block, end: endAs('confirmed') })
    expect(await outcomes(['from before the first', 'another'], null)).toEqual(['refilled', 'refilled'])
    expect(await outcomes(['second', 'third'], first?.row_id ?? 0)).toEqual(['created', 'refilled'])
    expect(await store.refills(relayer.row_id)).toHaveLength(2)
  })

  test('allows so many gap fills of an account in an hour, for 100 concurrent callers', async () => {
    const { store, clock } = opened()
    const [account, other] = [await plantRelayer(opened(), 8), await plantRelayer(opened(), 9)]
    const take = (wanted: number, limit: number) => store.takeGapFills(account, wanted, limit)
    const granted = await Promise.all(Array.from({ length: 100 }, () => take(1, 7)))
    expect(granted.filter((count) => count === 1)).toHaveLength(7)
    expect(await take(5, 10)).toBe(3)
    expect([await take(1, 10), await take(1, 0)]).toEqual([0, 0])
    expect(await store.takeGapFills(other, 2, 1)).toBe(1)
    clock.ms += 3_600_000 - 1
    expect(await take(1, 10)).toBe(0)
    // The oldest of the steps of five minutes counts as long as any of it does.
    clock.ms += 300_000
    expect(await take(1, 10)).toBe(0)
    clock.ms += 1
    expect(await take(20, 10)).toBe(10)
  })

  test('leaves no trace of a refused transaction beside accepted ones, and replaces half of a surrogate pair', async () => {
    const relayer = await plantRelayer(opened(), 2)
    const { store } = opened()
    const spending = [{ policy: 'max_value_per_day' as const, asset: 'wei', amount: '2', limit: '5' }]
    const wanted = ['first', 'a \ud800 b', 'over the limit', 'fourth'].map((reference, index) =>
      newTransaction(relayer, `together-${index}`, {
        reference,
        ...(index !== 3 && { spending }),
        data: `0x0${index}`,
      }),
    )
    const created = await Promise.all(wanted.map((one) => store.createTransaction(one)))
    expect(created.map(({ outcome }) => outcome)).toEqual(['created', 'created', 'over_limit', 'created'])
    const rows = await Promise.all(wanted.map(({ id }) => store.getTransaction(relayer.row_id, id)))
    expect(rows.map((row) => row && [row.nonce, row.reference, row.data])).toEqual([
      [0, 'first', '0x00'],
      [1, 'a \ufffd b', '0x01'],
      undefined,
      [2, 'fourth', '0x03'],
    ])
  })

  test('moved together: each state of a row has its event, a stale move changes nothing, answers of nodes come in order', async () => {
    const relayer = await plantRelayer(opened(), 3)
    const { store } = opened()
    const ids = ['moved-0', 'moved-1', 'moved-2']
    for (const id of ids) await store.createTransaction(newTransaction(relayer, id))
    const rows = await store.pending(relayer.row_id, { from: 0, below: 10 }, 10)
    const [first, second, third] = rows.map(({ row_id }) => row_id) as [number, number, number]
    const before = await store.lastEvent(relayer.row_id)
    const attemptOf = (rowId: number) => ({
      ...{
        number: 1,
        purpose: 'send' as const,
        content_hash: '',
        sig: '',
        nonce: 0,
        hash: `0x${rowId}`,
        raw: new Uint8Array([0, 255, rowId]),
      },
      ...{ gas_limit: 21_000, gas_price: '10', max_fee_per_gas: null, max_priority_fee_per_gas: null },
    })
    const moved = await Promise.all([
      store.move([
        { row_id: first, revision: 0, set: { status: 'sent' }, attempt: attemptOf(first) },
        { row_id: first, revision: 1, set: {}, refused: { number: 1, refusal_message: 'a \ud800 b', kind: 'unknown' } },
        { row_id: first, revision: 2, set: { status: 'submitted' }, taken: [1] },
        { row_id: first, revision: 3, set: { status: 'mined', block_number: 1, block_hash: '0x1' } },
        { row_id: first, revision: 4, set: {}, end: endAs('confirmed') },
      ]),
      store.move([
        { row_id: second, revision: 0, set: { status: 'sent' }, attempt: attemptOf(second) },
        { row_id: first, revision: 0, set: {}, end: endAs('failed') },
        {
          row_id: second,
          revision: 1,
          set: { wait_reason: 'node', wait_text: 'a \ud800 b' },
          refused: { number: 1, refusal_message: 'x', kind: 'unknown' },
        },
        { row_id: third, revision: 7, set: {}, end: endAs('failed') },
      ]),
    ])
    expect(moved.flat().map((row) => row?.status)).toEqual([
      'sent',
      'sent',
      'submitted',
      'mined',
      'confirmed',
      'sent',
      undefined,
      'sent',
      undefined,
    ])
    const events = (await store.events(relayer.row_id, before, 100)).map(({ event, body }) => {
      const { payload } = JSON.parse(body)
      const { id, status } = payload.transaction ?? payload
      return `${event} ${id} ${status}`
    })
    const states = ['moved-0 sent', 'moved-0 submitted', 'moved-0 mined', 'moved-0 confirmed', 'moved-1 sent']
    expect(events).toEqual([
      ...states.map((state) => `transaction_update ${state}`),
      'transaction_waiting moved-1 sent',
    ])
    const [taken] = await store.attempts(first)
    expect([taken?.taken_at === null, taken?.refusal_message]).toEqual([false, null])
    expect(await store.rawOf(first, 1)).toEqual(Buffer.from([0, 255, first]))
    expect((await store.attempts(second)).map(({ refusal_message }) => refusal_message)).toEqual(['x'])
    expect(await store.attempts(third)).toEqual([])
    expect(await store.firstInLine(relayer.row_id)).toMatchObject({
      row_id: second,
      wait_text: 'a \ufffd b',
    })
    expect((await store.getAccount(relayer.chain_id, relayer.address)).reserved).toBe(String(2 * 210_001))
  })
})
