import { expect, test } from 'vitest'
import { Shares } from '../../server/api/http/shares.ts'
import { StatusWaits, WaitPlace } from '../../server/services/transactions/wait-for-status.ts'
import type { TransactionState } from '../../server/store/queries/transaction-reads.ts'

const waitMs = 60_000

/** Waiting requests of some callers, and the transactions that each statement looked at. */
function open() {
  const states = new Map<string, TransactionState>()
  const statements: string[][] = []
  const waiting = new StatusWaits({
    async transactionStates(ids) {
      statements.push(ids)
      return new Map(ids.flatMap((id) => [[id, states.get(id) ?? { status: 'submitted', resign: false }] as const]))
    },
  })
  const shares = new Shares({ name: 'waits', limit: 5_000, each: 1_250 })
  const wait = (key: string, transactionId: string, isSigned = false) => {
    let close = () => {}
    const request = {
      caller: { id: key, roles: new Set<string>() } as never,
      onClose(callback: () => void) {
        close = callback
      },
    }
    const place = new WaitPlace(request, shares)
    const over = waiting.until({ transaction_id: transactionId, until: 'confirmed', isSigned, wait_ms: waitMs }, place)
    return { over, close }
  }
  return { states, statements, waiting, wait }
}

const turns = async () => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
}

test('looks once at a transaction that many requests wait for, and at many transactions with one statement', async () => {
  const { states, statements, waiting, wait } = open()
  const same = Array.from({ length: 1_000 }, () => wait('a', 'one'))
  const others = Array.from({ length: 1_000 }, (_, index) => wait('b', `b${index}`))
  await turns()
  expect(statements.length).toBeLessThanOrEqual(6)
  expect(new Set(statements.map(({ length }) => length <= 250))).toEqual(new Set([true]))
  expect(statements.flat().filter((id) => id === 'one').length).toBeLessThanOrEqual(2)

  states.set('one', { status: 'confirmed', resign: false })
  waiting.changed()
  await Promise.all(same.map(({ over }) => over))
  waiting.stop()
  await Promise.all(others.map(({ over }) => over))
})

test('leaves room for another key, and ends a wait when its connection closes', async () => {
  const { statements, waiting, wait } = open()
  const taken = Array.from({ length: 1_250 }, (_, index) => wait('a', `a${index}`))
  const refused = expect.objectContaining({
    code: 'rate_limited',
    details: [expect.objectContaining({ path: 'waits' })],
  })
  expect(() => wait('a', 'more')).toThrow(refused)
  const other = wait('b', 'b')
  for (const { close } of taken) close()
  await Promise.all(taken.map(({ over }) => over))
  wait('a', 'again').close()
  await turns()
  statements.length = 0
  waiting.changed()
  await expect.poll(() => statements).toEqual([['b']])
  other.close()
  await other.over
})

test('waits for the signature of a replacement', async () => {
  const { states, waiting, wait } = open()
  states.set('one', { status: 'confirmed', resign: true })
  const { over } = wait('a', 'one', true)
  let isOver = false
  void over.then(() => {
    isOver = true
  })
  await turns()
  expect(isOver).toBe(false)
  states.set('one', { status: 'confirmed', resign: false })
  waiting.changed()
  await over
})
