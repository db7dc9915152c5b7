import { expect, test } from 'vitest'
import type { Transaction, TransactionStatus } from '../client/index.ts'
import { amountOf, keyOf } from './crash/clients.ts'
import { runCrash } from './crash/crash.ts'
import { type Evidence, judge } from './crash/judge.ts'
import { scoreboard, wrongIn } from './crash/scoreboard.ts'
import { checkFault, type SeededFault, seededFaults } from './crash/seeded-faults.ts'

// The short form of `npm run test:crash`.

/** Everything here waits for something to happen; this ends a test in which nothing does. */
const deadlineMs = 600_000

test('loses nothing, sends nothing twice and leaves no gap after 5 kills', { timeout: deadlineMs }, async () => {
  // Of this seed: one kill while the service starts, one as soon as it is ready.
  const result = await runCrash({ kills: 5, submissions: 60, seed: 26, patience_ms: 60_000 })
  expect(wrongIn(result.verdict), scoreboard(result)).toEqual([])
  expect(result.kills).toEqual({ start: 1, work: 4 })
})

test('signs one set of bytes per nonce and price after 2 kills with a key service that never repeats a signature', {
  timeout: deadlineMs,
}, async () => {
  const options = { kills: 2, submissions: 30, seed: 21, patience_ms: 60_000, signer: 'aws_kms' } as const
  const result = await runCrash(options)
  expect(wrongIn(result.verdict), scoreboard(result)).toEqual([])
})

test('detects an event that is written after its change', { timeout: deadlineMs }, async () => {
  const fault = 'event-outside'
  const result = await runCrash({ kills: 2, submissions: 30, seed: 3, patience_ms: 60_000, fault })
  expect(wrongIn(result.verdict), scoreboard(result)).toEqual(['events'])
})

test.each(Object.entries<SeededFault>(seededFaults))('can still seed: %s', (_, fault) => {
  checkFault(fault)
})

/** Two submissions of which all is as it should be. */
function cleanEvidence() {
  const at = (nonce: number, status: TransactionStatus) =>
    ({ id: `id-${nonce}`, nonce, value: amountOf(nonce), hash: `0x${nonce}`, status }) as Transaction
  const path: TransactionStatus[] = ['pending', 'sent', 'submitted', 'mined', 'confirmed']
  const payloads = [0, 1].flatMap((nonce) => path.map((status) => at(nonce, status)))
  const tally = { retries: 0, refused: 0, broken: 0, unavailable: 0, wrong: [] as string[], contradictions: 0 }
  return {
    indexes: [0, 1],
    accepted: new Map([0, 1].map((index) => [index, at(index, 'pending')])),
    tally,
    logged: [] as string[],
    listed: [at(1, 'confirmed'), at(0, 'confirmed')],
    chain: {
      transactions: [0, 1].map((nonce) => ({ hash: `0x${nonce}`, nonce, value: amountOf(nonce) })),
      receipts: ['0x0', '0x1'],
    },
    store: {
      damage: [] as string[],
      next_nonce: 2,
      hashes: ['0x0', '0x1'],
      prices: new Map([0, 1].map((nonce) => [`0x${nonce}`, `${nonce}`])),
      answers: new Map([0, 1].map((index) => [keyOf(index), at(index, 'pending')])),
      events: payloads.map((payload, index) => ({ relayer_row_id: 1, sequence: index + 1, payload })),
    },
    broadcast: ['0x0', '0x1'],
    wrong_signatures: 0,
  } satisfies Evidence
}
type Known = ReturnType<typeof cleanEvidence>

test('accepts clean evidence, also after a kill before `submitted` was written', () => {
  expect(wrongIn(judge(cleanEvidence()))).toEqual([])
  const shorter = cleanEvidence()
  shorter.store.events.splice(2, 1)
  for (const [index, event] of shorter.store.events.entries()) event.sequence = index + 1
  expect(wrongIn(judge(shorter))).toEqual([])
})

const third = { hash: '0x2', nonce: 2, value: amountOf(0) }
test.each<[string, string[], (evidence: Known) => unknown]>([
  ['a submission without a 201', ['unaccepted', 'unlisted'], ({ accepted }) => accepted.delete(1)],
  ['an id that is listed twice', ['unlisted'], ({ listed }) => listed.push(listed[0] as Transaction)],
  [
    'a submission that is on the chain twice',
    ['twice'],
    (evidence) => {
      evidence.chain.transactions.push(third)
      evidence.store.hashes.push(third.hash)
    },
  ],
  [
    'a transaction on the chain that nobody submitted',
    ['twice', 'unrecorded'],
    ({ chain }) => chain.transactions.push({ ...third, value: '0' }),
  ],
  [
    'a submission that is not on the chain',
    ['lost', 'gaps', 'receipts'],
    ({ chain }) => {
      chain.transactions.pop()
      chain.receipts.pop()
    },
  ],
  [
    'two transactions with one hash',
    ['receipts', 'events'],
    ({ listed }) => {
      listed[0] = { ...(listed[0] as Transaction), hash: '0x0' }
    },
  ],
  ['bytes that were sent and not stored', ['rebroadcast'], ({ broadcast }) => broadcast.push('0x2')],
  [
    'a second signature for a nonce and price',
    ['rebroadcast'],
    ({ broadcast, store }) => {
      broadcast.push('0x2')
      store.prices.set('0x2', '1')
    },
  ],
  [
    'bytes by another key',
    ['signatures'],
    (evidence) => {
      evidence.wrong_signatures = 1
    },
  ],
  ['an event that is missing', ['events'], ({ store }) => store.events.pop()],
  [
    'a state that is told twice',
    ['events'],
    ({ store }) => {
      const again = store.events[1] as Known['store']['events'][number]
      store.events.splice(2, 0, again)
      for (const [index, event] of store.events.entries()) store.events[index] = { ...event, sequence: index + 1 }
    },
  ],
  [
    'a sequence with a gap',
    ['events'],
    ({ store }) => {
      for (const event of store.events.slice(5)) event.sequence += 1
    },
  ],
  [
    'a first event that is not the first answer',
    ['events'],
    ({ store }) => {
      store.events[0] = {
        relayer_row_id: 1,
        sequence: 1,
        payload: { ...(store.events[0]?.payload as Transaction), data: '0x' },
      }
    },
  ],
  [
    'another answer than the one that was heard',
    ['answers'],
    ({ accepted }) => {
      accepted.set(0, { ...(accepted.get(0) as Transaction), data: '0x' })
    },
  ],
  ['an answer 500', ['answers'], ({ tally }) => tally.wrong.push('500')],
  ['an error in the log', ['answers'], ({ logged }) => logged.push('error')],
  [
    'a counter that is behind',
    ['counter'],
    ({ store }) => {
      store.next_nonce = 1
    },
  ],
  ['a damaged file', ['database'], ({ store }) => store.damage.push('row 1 missing from index')],
])('detects %s', (_, columns, spoil) => {
  const evidence = cleanEvidence()
  spoil(evidence)
  expect(wrongIn(judge(evidence))).toEqual(columns)
})
