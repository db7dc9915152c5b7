import { expect, test } from 'vitest'
import { newTransaction, plantRelayer } from './relayers.ts'
import { onEveryStore } from './stores.ts'

onEveryStore((opened) => {
  test('100 callers at once: limits, nonces, idempotency keys and revisions hold', async () => {
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

  test('a lease is one owner’s until it is dropped, or its owner has ended', async () => {
    const { store } = opened()
    const take = (owner: string, isAlive = true) => store.takeLease('work', owner, 60_000, () => isAlive)
    const taken = await Promise.all(['a', 'b', 'c'].map((owner) => take(owner)))
    expect(taken.filter((isTaken) => isTaken)).toHaveLength(1)
    const owner = ['a', 'b', 'c'][taken.indexOf(true)] as string
    expect([await take(owner), await take('d')]).toEqual([true, false])
    await store.dropLease('work', 'd')
    expect(await take('d')).toBe(false)
    expect([await take('d', false), await take(owner)]).toEqual([true, false])
    await store.dropLease('work', 'd')
    expect(await take(owner)).toBe(true)
  })
})
