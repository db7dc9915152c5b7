import { HttpAgents } from '../lib/http-client.ts'
import { makeId } from '../lib/ids.ts'
import { sendAttempt } from '../webhooks/attempt.ts'
import { Deliverer } from '../webhooks/deliverer.ts'
import { startWorker } from './background.ts'
import type { Foundation } from './foundation.ts'

/** The pause between two batches of a bulk change, in which other database transactions run. */
const bulkRestMs = 5

export type Webhooks = ReturnType<typeof startWebhooks>

/** Starts the delivery of events, and the bulk changes of deliveries. */
export function startWebhooks(foundation: Foundation) {
  const { config, store, observer, now, logger, vault, lookup, checkTarget } = foundation
  const publicOnly = !config.allow_private_targets
  const attempts = { agents: new HttpAgents(), checkTarget, lookup, publicOnly, now }
  const deliverer = new Deliverer({
    store,
    observer,
    makeId,
    now,
    logger,
    open: (sealed, row) => vault.open(sealed, row),
    send: (request) => sendAttempt(attempts, request),
    scale: config.webhook_time_scale,
    wake: (notificationRowId: number) => deliveries.wake(notificationRowId),
  })
  const deliveries = startWorker('deliverer', foundation, {
    work: (rowId) => deliverer.work(rowId),
    find: store.targetsAtWork,
    leave: (rowId) => deliverer.leave(rowId),
  })
  const bulkChanges = startWorker('bulk changes', foundation, {
    async work() {
      const isFound = await store.continueBulkChange()
      deliveries.poll()
      return isFound ? bulkRestMs : undefined
    },
    find: async () => ((await store.hasBulkChange()) ? [0] : []),
  })

  return {
    sendTest: (rowId: number) => deliverer.test(rowId),
    wake: (notificationRowId: number) => deliveries.wake(notificationRowId),
    poll: () => deliveries.poll(),
    async stop() {
      await Promise.all([deliveries.stop(), bulkChanges.stop(), deliverer.stop()])
    },
  }
}
