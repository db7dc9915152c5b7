import { setImmediate as turn } from 'node:timers/promises'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { Deliverer } from '../../server/webhooks/deliverer.ts'
import { addRelayer, notificationOf } from '../store/conformance/resources.ts'
import { openStores } from '../store/conformance/stores.ts'

const turns = 500

test('does not send an event again at once while its outcome cannot be stored', async () => {
  const { store, clock, remove } = await openStores.SQLite()
  onTestFinished(() => void remove())
  await store.createNotification(notificationOf('hook'))
  const { id } = await addRelayer({ store }, { notification_ids: ['hook'] })
  await store.updateRelayer(id, (its) => ({ ...its, paused: !its.paused }))
  const target = (await store.targetRowId('hook')) as number
  let sent = 0
  const deliverer = new Deliverer({
    // The disk is full: what is stored can be read.
    store: { ...store, recordDelivery: () => Promise.reject(new Error('database or disk is full')) },
    async send() {
      sent += 1
      await turn()
      return { status: 200, error: null, answer: '', retry_after_s: undefined }
    },
    ...{ observer: {}, open: (sealed) => sealed, makeId: () => 'id', now: () => clock.ms, scale: 1 },
    wake: (rowId) => void deliverer.work(rowId),
    logger: pino({ level: 'silent' }),
  })
  await deliverer.work(target)
  for (let count = 0; count < turns; count += 1) await turn()
  expect(sent).toBe(1)
})
