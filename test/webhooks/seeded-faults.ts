import type { SeededFault } from '../crash/seeded-faults.ts'
import type { ColumnName } from './judge.ts'

/** Mistakes that a service which delivers webhooks is known for. The harness must see each of them. */
export const seededFaults = {
  /** The delivery is done as soon as it is begun: a kill, or a fault of the target, loses it. */
  'settled-before-answer': {
    file: 'server/webhooks/deliverer.ts',
    text: 'verdictOf(result, {',
    instead: 'verdictOf({ ...result, status: 200 }, {',
    caught_by: ['undelivered'],
  },
  /** Each attempt makes the body anew. */
  'body-made-anew': {
    file: 'server/webhooks/deliverer.ts',
    text: 'delivery.event_id, body,',
    instead: 'delivery.event_id, JSON.stringify({ ...JSON.parse(body), timestamp: new Date(now()).toISOString() }),',
    caught_by: ['altered'],
  },
  /** What comes later does not wait for what failed before it. */
  overtaken: {
    file: 'server/store/queries/deliveries.ts',
    text: 'AND earlier.subject = deliveries.subject AND earlier.row_id < deliveries.row_id)',
    instead: 'AND earlier.subject = deliveries.subject AND earlier.row_id < 0)',
    caught_by: ['disorder'],
  },
  /** The event has a database transaction of its own, a little later. */
  'event-outside': {
    file: 'server/store/queries/relayers.ts',
    text: 'if (event) await writeEvents(dbTransaction, [event])',
    instead: 'if (event) void setTimeout(writeEvents, 200, { ...dbTransaction }, [event])',
    caught_by: ['undelivered', 'stories'],
  },
  /** What was delivered is settled in a while. */
  'settled-late': {
    file: 'server/webhooks/deliverer.ts',
    text: 'await store.recordDelivery({',
    instead: 'await new Promise((resolve) => setTimeout(resolve, 300))\n      await store.recordDelivery({',
    caught_by: ['again'],
  },
} satisfies Record<string, SeededFault<ColumnName>>

export type FaultName = keyof typeof seededFaults

export const isFaultName = (name: string): name is FaultName => Object.hasOwn(seededFaults, name)
