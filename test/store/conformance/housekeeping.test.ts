import { expect, test } from 'vitest'
import type { AuditFilter } from '../../../server/domain/rows.ts'
import { addRelayer, notificationOf, unique } from './resources.ts'
import { onEveryStore } from './stores.ts'

const forever = '9999-01-01T00:00:00.000Z'

onEveryStore((opened) => {
  test('sums what left a relayer, also above 2^53 gwei', async () => {
    const { store, rows } = opened()
    const { row_id } = await addRelayer({ store })
    const left = `${row_id}, 9000000000000000`
    await rows(
      `INSERT INTO activity (period_s, at, relayer_row_id, value_gwei) VALUES (900, 900, ${left}), (900, 1800, ${left})`,
    )
    expect(await store.outgoingSince(row_id, 0)).toBe(18_000_000n * 10n ** 18n)
  })

  test('returns the time of the newest row until a trusted time is stored', async () => {
    const { store, clock } = opened()
    expect(await store.believedTime()).toBeUndefined()
    const { id } = await addRelayer({ store })
    await store.updateRelayer(id, (its) => ({ ...its, paused: true }))
    expect(await store.believedTime()).toBe(clock.ms)
    await store.believeTime(5)
    await store.believeTime(7)
    expect(await store.believedTime()).toBe(7)
  })

  test('keeps the lease of a row until it is returned', async () => {
    const { store } = opened()
    const share = store.share('bulk changes')
    expect([share.holds(1), await share.claim(1), share.holds(1)]).toEqual([false, true, true])
    expect((await share.divide([1])).own).toEqual([1])
    expect(await share.under(1, () => store.believeTime(5).then(() => 'done'))).toBe('done')
    await share.giveBack(1)
    await share.release()
    expect(share.holds(1)).toBe(false)
  })

  test('lists audit entries newest first, at any depth, with filters', async () => {
    const { store } = opened()
    const before = (await store.auditHead()).up_to
    const entry = (index: number) => ({
      at: index,
      caller: index % 2 === 0 ? 'even' : 'odd',
      operation: 'signMessage',
      relayer_id: null,
      subject: `0x${index}`,
      http_status: 200,
      request_id: null,
    })
    await store.appendAudit(Array.from({ length: 6_000 }, (_, index) => entry(index)))
    await store.appendAudit([entry(6_000)])
    const page = await store.listAudit({ offset: 0, limit: 2 }, {})
    expect(page).toEqual({
      items: [
        { ...entry(6_000), chain: 1, sequence: before + 6_001 },
        { ...entry(5_999), chain: 1, sequence: before + 6_000 },
      ],
      total_items: before + 6_001,
    })
    expect((await store.listAudit({ offset: 5_999, limit: 2 }, {})).items.map(({ at }) => at)).toEqual([1, 0])
    const odd = await store.listAudit({ offset: 1, limit: 2 }, { caller: 'odd', after: 10, before: 5_000 })
    expect([odd.items.map(({ at }) => at), odd.total_items]).toEqual([[4_997, 4_995], 2_495])
    expect(await store.listAudit({ offset: 0, limit: 5 }, { subject: '0x6000' })).toMatchObject({ total_items: 1 })
    await store.appendAudit([
      { ...entry(7_000), caller: 'service', operation: 'sendTransaction' },
      { ...entry(7_001), operation: 'sendTransactionBatch', http_status: 409 },
    ])
    const found = async (filter: AuditFilter) =>
      (await store.listAudit({ offset: 0, limit: 3 }, filter)).items.map(({ at }) => at)
    expect(await found({ operation: 'TRANSACTION' })).toEqual([7_001, 7_000])
    expect(await found({ operation: 'transaction', exclude_service: true })).toEqual([7_001])
    expect(await found({ outcome: 'refused' })).toEqual([7_001])
    expect(await found({ outcome: 'succeeded' })).toEqual([7_000, 6_000, 5_999])
  })

  test('adds old quarters of an hour to their days, each once, and removes old days', async () => {
    const { store, rows } = opened()
    const [one, other] = [await addRelayer({ store }), await addRelayer({ store })]
    const dayS = 86_400
    const [today, hour] = [200 * dayS, 3_600]
    const at = (days: number, quarter: number) => today - days * dayS + quarter * 900
    const ids = new Set([one.id, other.id])
    const counted = [
      [one, at(3, 5), 1, 999_999_999],
      [one, at(3, 95), 2, 999_999_999],
      [other, at(3, 5), 4, 1],
      [one, at(2, 0), 8, 2],
      [one, at(0, 7), 16, 3],
    ] as const
    for (const [{ row_id }, start, count, wei] of counted)
      await rows(
        `INSERT INTO activity (period_s, at, relayer_row_id, accepted, mined, inclusion_ms, max_inclusion_ms, fee_gwei, fee_wei)
         VALUES (900, ${start}, ${row_id}, ${count}, ${count}, ${count}, ${count}, ${count}, ${wei})`,
      )
    const days = async (from: number) => {
      const sums = new Map<string, number[]>()
      for (const row of await store.activityDays({ from, now: today + dayS, ids, network: undefined })) {
        const key = `${row.relayer_id === one.id ? 'one' : 'other'} ${(today - row.at) / dayS}`
        const values = [row.accepted, row.mined, row.inclusion_ms, row.fee_gwei * 10 ** 9 + row.fee_wei]
        sums.set(
          key,
          values.map((value, index) => value + (sums.get(key)?.[index] ?? 0)),
        )
      }
      return Object.fromEntries(sums)
    }
    const all = {
      'one 3': [3, 3, 3, 4_999_999_998],
      'other 3': [4, 4, 4, 4_000_000_001],
      'one 2': [8, 8, 8, 8_000_000_002],
      'one 0': [16, 16, 16, 16_000_000_003],
    }
    const stored = async () =>
      (await rows<{ n: number }>('SELECT count(*) AS n FROM activity WHERE period_s = 900'))[0]?.n
    expect(await days(at(3, 0))).toEqual(all)
    for (const now of [today - 2 * dayS + hour, today, today + 3 * dayS]) {
      expect(await store.pruneActivity(now)).toEqual({ more: false })
      expect(await days(at(3, 0))).toEqual(all)
    }
    expect(Number(await stored())).toBe(0)
    expect(Object.keys(await days(at(2, 0)))).toEqual(['one 2', 'one 0'])
    for (const [ago, caller, wei] of [
      [2, 'key', 7],
      [0, 'key', 8],
      [0, 'other key', 9],
    ])
      await rows(
        `INSERT INTO caller_days (at, relayer_row_id, caller, mined, fee_gwei, fee_wei, repriced, repricing_gwei)
         VALUES (${today - Number(ago) * dayS}, ${one.row_id}, '${caller}', 1, 0, ${wei}, 1, 0.5)`,
      )
    const callers = async () =>
      (await store.callerDays({ from: at(3, 0), now: today + dayS, ids, network: undefined })).map(
        ({ at: day, caller, fee_wei }) => `${(today - day) / dayS} ${caller} ${fee_wei}`,
      )
    expect((await callers()).sort()).toEqual(['0 key 8', '0 other key 9', '2 key 7'])
    const repricings = await store.repricings({ from: at(1, 0), now: today + dayS, ids, network: undefined })
    expect(repricings).toEqual([{ relayer_id: one.id, repriced: 2, repricing_gwei: 1 }])
    await store.pruneActivity(today + 98.5 * dayS)
    expect(Object.keys(await days(at(3, 0)))).toEqual(['one 0'])
    expect((await callers()).sort()).toEqual(['0 key 8', '0 other key 9'])
  })

  test('deletes old events without deliveries, but never a relayer’s last one', async () => {
    const { store, rows } = opened()
    const hook = unique('hook')
    await store.createNotification(notificationOf(hook))
    const { id, row_id } = await addRelayer({ store }, { notification_ids: [hook] })
    for (let at = 0; at < 3; at += 1) await store.updateRelayer(id, (its) => ({ ...its, paused: !its.paused }))
    const prune = async (kind: 'events' | 'deliveries', before: string) => {
      let removed = 0
      for (let after: number | undefined = 0; after !== undefined; ) {
        const step: { removed: number; next: number | undefined } = await store.prune(kind, before, after)
        removed += step.removed
        after = step.next
      }
      return removed
    }
    expect([await prune('events', forever), await prune('deliveries', forever)]).toEqual([0, 0])
    const target = (await store.targetRowId(hook)) as number
    await rows(`UPDATE deliveries SET status = 'delivered' WHERE notification_row_id = ${target}`)
    expect([await prune('deliveries', '2000-01-01T00:00:00.000Z'), await prune('deliveries', forever)]).toEqual([0, 3])
    expect([await prune('events', '2000-01-01T00:00:00.000Z'), await prune('events', forever)]).toEqual([0, 2])
    expect((await store.events(row_id, 0, 10)).map(({ sequence }) => sequence)).toEqual([3])
    expect(await store.lastEvent(row_id)).toBe(3)
  })

  test('deletes final transactions from the first one on, only before an unfinished one', async () => {
    const { store, rows } = opened()
    const { row_id, address, id } = await addRelayer({ store })
    const states = ['confirmed', 'failed', 'confirmed', 'pending', 'confirmed']
    for (const [nonce, status] of states.entries()) {
      await rows(`INSERT INTO transactions (network, caller, type, changed_at, id, relayer_row_id, relayer_id, sequence, chain_id, "from", value, nonce, status, created_at)
        VALUES ('local', 'test', 2, '2026-01-01T00:00:00.000Z', '${id} ${nonce}', ${row_id}, '${id}', ${nonce + 1}, 1, '${address}', '0', ${nonce}, '${status}', '2020-01-01T00:00:0${nonce}.000Z')`)
      await rows(`INSERT INTO idempotency (caller, relayer_row_id, idempotency_key, body_hash, transaction_row_id, answer)
        SELECT 'me', ${row_id}, id, 'x', row_id, '{}' FROM transactions WHERE id = '${id} ${nonce}'`)
    }
    expect(await store.prune('transactions', '2020-01-01T00:00:01.000Z', row_id - 1)).toEqual({
      removed: 1,
      next: row_id,
    })
    expect(await store.prune('idempotency', '2020-01-01T00:00:02.000Z', 0)).toMatchObject({ removed: 1 })
    expect(await store.prune('transactions', '2020-01-02T00:00:00.000Z', row_id - 1)).toEqual({
      removed: 2,
      next: row_id,
    })
    expect(await store.prune('idempotency', '2020-01-02T00:00:00.000Z', 0)).toMatchObject({ removed: 1 })
    expect(await store.prune('transactions', forever, row_id)).toEqual({ removed: 0, next: undefined })
    const left = await rows<{ sequence: number }>(
      `SELECT sequence FROM transactions WHERE relayer_row_id = ${row_id} ORDER BY sequence`,
    )
    expect(left.map(({ sequence }) => sequence)).toEqual([4, 5])
  })

  test('counts unfinished and due work in gauges, and nonces that no transaction holds', async () => {
    const { store, rows, clock } = opened()
    const { row_id, address, id } = await addRelayer({ store })
    await rows(`DELETE FROM idempotency`)
    await rows(`DELETE FROM transactions`)
    const before = await store.readGauges(clock.ms)
    expect(before.transactions).toEqual([])
    for (const [nonce, status] of [
      [2, 'pending'],
      [3, 'sent'],
      [5, 'submitted'],
      [6, 'mined'],
      [1, 'confirmed'],
    ]) {
      await rows(`INSERT INTO transactions (network, caller, type, changed_at, id, relayer_row_id, relayer_id, sequence, chain_id, "from", value, nonce, status, created_at)
        VALUES ('local', 'test', 2, '2026-01-01T00:00:00.000Z', '${id} g${nonce}', ${row_id}, '${id}', ${nonce}, 1, '${address}', '0', ${nonce}, '${status}', '2025-12-31T23:59:5${nonce}.000Z')`)
    }
    await rows(`INSERT INTO accounts (chain_id, address, next_nonce) VALUES (1, '${address}', 9)`)
    const gauges = await store.readGauges(clock.ms)
    expect([...gauges.transactions].sort((a, b) => a.oldest_ms - b.oldest_ms)).toEqual([
      { status: 'mined', count: 1, oldest_ms: 4_000 },
      { status: 'submitted', count: 1, oldest_ms: 5_000 },
      { status: 'sent', count: 1, oldest_ms: 7_000 },
      { status: 'pending', count: 1, oldest_ms: 8_000 },
    ])
    expect(gauges.nonce_gaps).toEqual([{ relayer_id: id, gaps: 3 }])
    expect(gauges.deliveries).toEqual(before.deliveries)
  })
})
