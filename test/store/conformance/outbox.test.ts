import { expect, test } from 'vitest'
import type { DeliveryResult } from '../../../server/domain/rows.ts'
import { addRelayer, notificationOf, unique } from './resources.ts'
import { type OpenedStore, onEveryStore } from './stores.ts'

/** Adds a notification, and a relayer with `events` events for it. */
async function scene({ store }: OpenedStore, events: number) {
  const hook = unique('hook')
  await store.createNotification(notificationOf(hook))
  const { id, row_id } = await addRelayer({ store }, { notification_ids: [hook] })
  for (let at = 0; at < events; at += 1) await store.updateRelayer(id, (its) => ({ ...its, paused: !its.paused }))
  return { hook, id, relayer_row_id: row_id, target: (await store.targetRowId(hook)) as number }
}

const resultOf = (
  notificationRowId: number,
  deliveryRowId: number,
  status: DeliveryResult['status'],
  changes: Partial<DeliveryResult> = {},
): DeliveryResult => ({
  notification_row_id: notificationRowId,
  delivery_row_id: deliveryRowId,
  status,
  failures: status === 'delivered' ? 0 : 1,
  failures_before: 0,
  next_at: 5,
  attempt: {
    number: 1,
    attempted_at: '2026-01-01T00:00:01.000Z',
    duration_ms: 3,
    http_status: 200,
    error_message: null,
    response_body: 'ok',
  },
  ...changes,
})

const everything = { offset: 0, limit: 1_000 }

onEveryStore((opened) => {
  test('lists events of a relayer in order, with one due delivery per subject', async () => {
    const { store, clock } = opened()
    const { relayer_row_id, target } = await scene(opened(), 3)
    const events = await store.events(relayer_row_id, 1, 10)
    expect(events.map(({ sequence, event }) => [sequence, event])).toEqual([
      [2, 'relayer_enabled'],
      [3, 'relayer_disabled'],
    ])
    expect(await store.events(relayer_row_id, 0, 1)).toHaveLength(1)
    expect(await store.targetsAtWork()).toContain(target)
    expect([await store.dueDeliveries(target, clock.ms - 1, 9), await store.nextDueAt(target)]).toEqual([[], clock.ms])
    const [due, ...more] = await store.dueDeliveries(target, clock.ms, 9)
    expect([due, more]).toEqual([expect.objectContaining({ attempts: 0, failures: 0 }), []])
    const [first] = await store.events(relayer_row_id, 0, 1)
    expect(await store.bodyOf(due?.row_id as number)).toBe(first?.body)
    expect(await store.bodyOf(1e9)).toBeUndefined()
    await store.recordDelivery(resultOf(target, due?.row_id as number, 'delivered'))
    const [second] = await store.dueDeliveries(target, clock.ms, 9)
    expect(second?.row_id).toBeGreaterThan(due?.row_id as number)
  })

  test('returns attempts with their delivery, and counts failures until a success', async () => {
    const { store, clock } = opened()
    const { target, id } = await scene(opened(), 1)
    const [due] = await store.dueDeliveries(target, clock.ms, 1)
    const rowId = due?.row_id as number
    await store.recordDelivery(resultOf(target, rowId, 'pending', { next_at: clock.ms + 7 }))
    expect(await store.notificationHealth(target)).toEqual({
      status: 'enabled',
      disabled_reason: null,
      last_success_at: null,
      failing_since: '2026-01-01T00:00:01.000Z',
      pending_count: 1,
      failed_count: 0,
    })
    expect(await store.nextDueAt(target)).toBe(clock.ms + 7)
    const attempt = {
      number: 2,
      attempted_at: '2026-01-01T00:00:02.000Z',
      duration_ms: 4,
      http_status: null,
      error_message: 'x',
      response_body: null,
    }
    await store.recordDelivery(resultOf(target, rowId, 'delivered', { attempt }))
    const { items } = await store.listDeliveries(target, everything, ['delivered'])
    expect(items).toMatchObject([
      {
        status: 'delivered',
        event: 'relayer_disabled',
        sequence: 1,
        relayer_id: id,
        transaction_id: null,
        nonce: null,
        next_attempt_at: null,
        attempts: [{ number: 1 }, attempt],
      },
    ])
    const health = await store.notificationHealth(target)
    expect(health).toMatchObject({ last_success_at: attempt.attempted_at, failing_since: null, pending_count: 0 })
    await store.deleteRelayer(id)
    const [after] = (await store.listDeliveries(target, everything, [])).items
    expect(after).toMatchObject({ relayer_id: null, transaction_id: null, nonce: null })
  })

  test('a failed attempt changes nothing of a delivery that was redelivered or given up meanwhile, and is shown', async () => {
    const { store, clock } = opened()
    const { hook, target } = await scene(opened(), 1)
    const [due] = await store.dueDeliveries(target, clock.ms, 1)
    const rowId = due?.row_id as number
    await store.recordDelivery(resultOf(target, rowId, 'pending', { next_at: clock.ms }))
    const last = { failures: 2, failures_before: 1 }
    const { items } = await store.listDeliveries(target, everything, [])
    await store.redeliver(target, items[0]?.id as string)
    const attempt = { ...resultOf(target, rowId, 'failed').attempt, number: 2 }
    await store.recordDelivery(resultOf(target, rowId, 'failed', { ...last, attempt }))
    expect(await store.dueDeliveries(target, clock.ms, 1)).toEqual([
      expect.objectContaining({ failures: 0, attempts: 2 }),
    ])

    await store.recordDelivery(
      resultOf(target, rowId, 'failed', { attempt: { ...attempt, number: 3 }, disable: 'gone' }),
    )
    await store.updateNotification(hook, { url: 'http://127.0.0.1:2/', former_until: 0 })
    await store.recordDelivery(resultOf(target, rowId, 'pending', { attempt: { ...attempt, number: 4 } }))
    expect(await store.notificationHealth(target)).toMatchObject({ pending_count: 0, failed_count: 1 })
    await store.recordDelivery(resultOf(target, rowId, 'delivered', { attempt: { ...attempt, number: 5 } }))
    expect(await store.notificationHealth(target)).toMatchObject({ pending_count: 0, failed_count: 0 })
  })

  test('gives up deliveries of a disabled notification, adds none, and enables it by a new URL', async () => {
    const { store, clock } = opened()
    const { hook, id, target } = await scene(opened(), 4)
    const [due] = await store.dueDeliveries(target, clock.ms, 1)
    await store.recordDelivery(resultOf(target, due?.row_id as number, 'failed', { disable: 'It is gone' }))
    expect(await store.notificationHealth(target)).toMatchObject({
      status: 'disabled',
      disabled_reason: 'It is gone',
      pending_count: 0,
      failed_count: 4,
    })
    await store.updateRelayer(id, (its) => ({ ...its, paused: !its.paused }))
    const { items, total_items } = await store.listDeliveries(target, { offset: 1, limit: 2 }, ['failed', 'pending'])
    expect([items.map(({ sequence }) => sequence), total_items]).toEqual([[4, 3], 5])
    const last = items.at(0)?.id as string
    expect([
      await store.redeliver(target, last),
      await store.redeliverFailed(target, '2026-01-01T00:00:00.000Z'),
    ]).toEqual(['disabled', 'disabled'])
    await store.updateNotification(hook, { url: 'https://b.example.com', former_until: 0 })
    expect(await store.redeliver(target, 'none')).toBe('missing')
    expect(await store.redeliver(target, last)).toMatchObject({ id: last, status: 'pending' })
    expect(await store.redeliverFailed(target, '2027-01-01T00:00:00.000Z')).toBe(0)
    expect(await store.redeliverFailed(target, '2026-01-01T00:00:00.000Z')).toBe(4)
    expect(await store.notificationHealth(target)).toMatchObject({
      status: 'enabled',
      pending_count: 5,
      failed_count: 0,
    })
  })

  test('changes many deliveries in batches until all are changed or removed', async () => {
    const { store, rows } = opened()
    const { hook, id, target } = await scene(opened(), 1)
    const values = Array.from({ length: 1_200 }, (_, index) => `(${index})`).join(', ')
    await rows(`INSERT INTO deliveries (id, notification_row_id, event_row_id, subject, status, next_at, created_at)
      SELECT '${hook} ' || column1, notification_row_id, event_row_id, 's', 'failed', 0, created_at
      FROM (SELECT * FROM deliveries WHERE notification_row_id = ${target}) AS one, (VALUES ${values}) AS numbers`)
    const finish = async () => {
      let batches = 0
      while (await store.continueBulkChange()) batches += 1
      return batches
    }
    expect(await store.redeliverFailed(target, '')).toBe(1_200)
    expect([await store.hasBulkChange(), await finish(), await store.hasBulkChange()]).toEqual([true, 2, false])
    expect(await store.notificationHealth(target)).toMatchObject({ pending_count: 1_201, failed_count: 0 })
    // All wait: the retry brings them forward in batches too, and gives each its last step of the schedule back.
    const far = 9_000_000_000_000
    await rows(`UPDATE deliveries SET next_at = ${far}, failures = 2 WHERE notification_row_id = ${target}`)
    expect(await store.retryDeliveries(target, undefined as never)).toBe(1_201)
    expect([await finish(), await store.retryDeliveries(target, undefined as never)]).toEqual([2, 0])
    const left = `SELECT row_id FROM deliveries WHERE notification_row_id = ${target} AND (next_at >= ${far} OR failures <> 1)`
    expect(await rows(left)).toEqual([])
    await store.updateRelayer(id, (its) => ({ ...its, notification_ids: [] }))
    expect(await store.deleteNotification(hook)).toBe('deleted')
    expect(await finish()).toBe(24)
    expect(await rows(`SELECT row_id FROM deliveries WHERE notification_row_id = ${target}`)).toEqual([])
    expect(await rows(`SELECT block FROM delivery_blocks WHERE notification_row_id = ${target}`)).toEqual([])
  })

  test('applies many concurrent results of attempts', async () => {
    const { store, clock } = opened()
    const scenes = [await scene(opened(), 1), await scene(opened(), 1), await scene(opened(), 1)]
    const due = await Promise.all(scenes.map(({ target }) => store.dueDeliveries(target, clock.ms, 1)))
    await Promise.all(
      scenes.map(({ target }, index) =>
        store.recordDelivery(resultOf(target, due[index]?.[0]?.row_id as number, 'delivered')),
      ),
    )
    for (const { target } of scenes) expect(await store.notificationHealth(target)).toMatchObject({ pending_count: 0 })
  })
})
