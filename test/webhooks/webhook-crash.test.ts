import { expect, test } from 'vitest'
import { checkFault, type SeededFault } from '../crash/seeded-faults.ts'
import { type ColumnName, type Evidence, judge } from './judge.ts'
import type { Arrival } from './receivers.ts'
import { scoreboard, wrongIn } from './scoreboard.ts'
import { seededFaults } from './seeded-faults.ts'
import { runTrial } from './trial.ts'

// The short form of `npm run test:webhooks`.

/** Everything here waits for something to happen; this ends a test in which nothing does. */
const deadlineMs = 300_000
const short = { max_faults: 2, hangs: false, patience_ms: 30_000 }

test('loses and changes nothing after 3 kills and faults in three of ten responses', {
  timeout: deadlineMs,
}, async () => {
  const result = await runTrial({ ...short, events: 300, kills: 3, seed: 4, switches: 40 })
  // How many come again is a matter of how busy the machine is; `npm run test:webhooks` counts them.
  const { again: _, ...verdict } = result.verdict
  expect(wrongIn({ ...verdict, again: 0 }), scoreboard(result)).toEqual([])
  expect(result.kills.start + result.kills.work).toBe(3)
  expect(result.events).toBeGreaterThanOrEqual(300)
  expect(result.faults.count).toBeGreaterThan(result.arrivals * 0.2)
})

test('detects bodies that differ between attempts', { timeout: deadlineMs }, async () => {
  const result = await runTrial({ ...short, events: 60, kills: 1, seed: 5, switches: 20, fault: 'body-made-anew' })
  expect(wrongIn(result.verdict), scoreboard(result)).toContain('altered')
})

test.each(Object.entries<SeededFault<ColumnName>>(seededFaults))('can still seed: %s', (_, fault) => {
  checkFault(fault)
})

/** A relayer's pause and its end, each delivered at the first attempt. */
function cleanEvidence() {
  const arrivals = [1, 2].map((sequence): Arrival => {
    const payload = { payload_type: sequence === 1 ? 'relayer_disabled' : 'relayer_enabled', relayer: { id: 'r' } }
    const event = { id: `event-${sequence}`, sequence, event: payload.payload_type, payload } as Arrival['event']
    return {
      target: 't',
      headers: { 'webhook-id': event.id },
      body: JSON.stringify(event),
      event,
      at: 0,
      arrived: sequence * 10,
      accepted: sequence * 10 + 1,
      sent: true,
      heard: true,
      answer: { kind: 'status', status: 200, headers: {}, delay_ms: 0 },
    }
  })
  return {
    arrivals,
    keys: new Map([['t', undefined as string | undefined]]),
    toggled: new Map([['r', 2]]),
    sent: new Set<string>(),
    unanswered: 0,
    followed: 0,
    crowd: 10,
    unsettled: 0,
    errors: [] as string[],
    damage: [] as string[],
  } satisfies Evidence
}
type Known = ReturnType<typeof cleanEvidence>

test('accepts clean evidence', async () => {
  expect(wrongIn((await judge(cleanEvidence())).verdict)).toEqual([])
})

const change = (evidence: Known, index: number, changes: Partial<Arrival>) => {
  evidence.arrivals[index] = { ...(evidence.arrivals[index] as Arrival), ...changes }
}
const repeat = (evidence: Known, index: number, changes: Partial<Arrival>) => {
  evidence.arrivals.push({ ...(evidence.arrivals[index] as Arrival), ...changes })
}

test.each<[string, ColumnName[], (evidence: Known) => unknown]>([
  ['a cause without an answer', ['unanswered'], (evidence) => Object.assign(evidence, { unanswered: 1 })],
  ['an event that never came', ['undelivered', 'stories'], ({ toggled }) => toggled.set('r', 3)],
  ['a transaction of which nothing came', ['undelivered', 'stories'], ({ sent }) => sent.add('one')],
  [
    'an event that was refused for ever',
    ['undelivered'],
    (evidence) => change(evidence, 1, { accepted: undefined, sent: false, heard: false }),
  ],
  ['an answer that was cut off', ['undelivered'], (evidence) => change(evidence, 1, { sent: false })],
  ['a hole', ['undelivered', 'holes', 'stories'], ({ arrivals }) => arrivals.shift()],
  ['other bytes the second time', ['altered', 'again'], (evidence) => repeat(evidence, 1, { body: '{}', arrived: 30 })],
  ["an id that is not the body's", ['altered'], (evidence) => change(evidence, 1, { headers: { 'webhook-id': 'x' } })],
  ['a key without a signature', ['unsigned'], ({ keys }) => keys.set('t', 'a key')],
  ['an event before the one before it was taken', ['disorder'], (evidence) => change(evidence, 1, { arrived: 5 })],
  ['a delivery after its 2xx', ['again'], (evidence) => repeat(evidence, 1, { arrived: 30 })],
  ['eleven at once', ['crowded'], (evidence) => Object.assign(evidence, { crowd: 11 })],
  ['a redirect that was followed', ['followed'], (evidence) => Object.assign(evidence, { followed: 1 })],
  ['a delivery that is not settled', ['unsettled'], (evidence) => Object.assign(evidence, { unsettled: 1 })],
  ['an error in the log', ['errors'], ({ errors }) => errors.push('error')],
  ['a damaged file', ['database'], ({ damage }) => damage.push('row 1 missing from index')],
])('detects %s', async (_, columns, spoil) => {
  const evidence = cleanEvidence()
  spoil(evidence)
  expect(wrongIn((await judge(evidence)).verdict)).toEqual(columns)
})
