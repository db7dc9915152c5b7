import { expect, test } from 'vitest'
import { newTransaction, plantRelayer } from './relayers.ts'
import { onEveryStore } from './stores.ts'

onEveryStore((opened) => {
  test('enforces limits, nonces, idempotency keys and revisions for 100 concurrent callers', async () => {
    const relayer = await plantRelayer(opened(), 1)
    const { store } = opened()
    const { chain_id, address, row_id } = relayer
    const callers = Array.from({ length: 100 }, (_, index) => index)

    const spend = { policy: 'max_value_per_day' as const, asset: 'wei', amount: '1', limit: '37' }
    const spent = await Promise.all(callers.map(() => store.spend({ chain_id, address }, [spend])))
    expect(spent.filter((over) => over === undefined)).toHaveLength(37)

    const idempotency = (index: number) => ({ caller: 'c', key: `k${index % 50}`, body_hash: 'x' })
    const created = await Promise.all(
      callers.map((index) =>
        store.createTransaction(newTransaction(relayer, `t${index}`, { idempotency: idempotency(index) })),
      ),
    )
    expect(created.filter(({ outcome }) => outcome === 'created')).toHaveLength(50)
    expect(created.filter(({ outcome }) => outcome === 'replayed')).toHaveLength(50)
    const holders = await store.holders(chain_id, address, 0, 1_000, 1_000)
    expect(holders.map(({ nonce }) => nonce)).toEqual(Array.from({ length: 50 }, (_, nonce) => nonce))
    expect((await store.getAccount(chain_id, address)).next_nonce).toBe(50)

    const first = await store.firstInLine(row_id)
    const { row_id: transaction_row_id = 0, revision = 0 } = first ?? {}
    const moved = await Promise.all(
      callers.map((index) =>
        store.move([{ row_id: transaction_row_id, revision, set: { status: 'sent', status_reason: `${index}` } }]),
      ),
    )
    expect(moved.flat().filter((row) => row !== undefined)).toHaveLength(1)
    expect(await store.countUnfinished(row_id)).toBe(50)
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
})
