import pino from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { StoreUnavailable } from '../../server/domain/errors.ts'
import { Worker, type WorkerContext } from '../../server/store/worker.ts'
import { fakeShare } from '../support/fake-share.ts'

const patienceMs = 60_000

/** A worker that ends with the test, whose work does nothing; `begun`: the row_id of each piece of work. */
function testWorker({
  claim,
  lease,
  ...dependencies
}: Partial<WorkerContext> & { claim?: () => Promise<boolean>; lease?: () => number }) {
  const begun: number[] = []
  const logged: string[] = []
  const worker = new Worker({
    find: async () => [],
    share: fakeShare(claim, lease),
    version: () => 0,
    elapsed: () => performance.now(),
    logger: pino({}, { write: (line) => void logged.push(line) }),
    ...dependencies,
    work(rowId, signal) {
      begun.push(rowId)
      return dependencies.work?.(rowId, signal) ?? Promise.resolve(undefined)
    },
  })
  onTestFinished(() => worker.stop())
  return Object.assign(worker, { begun, logged })
}

/** Work that ends when it is told to. */
function gate() {
  const waiting: PromiseWithResolvers<undefined>[] = []
  let isOpen = false
  return {
    async enter() {
      if (isOpen) return undefined
      const turn = Promise.withResolvers<undefined>()
      waiting.push(turn)
      return turn.promise
    },
    inside: () => waiting.length,
    letOneOut: () => waiting.shift()?.resolve(undefined),
    letAllOut() {
      isOpen = true
      for (const turn of waiting.splice(0)) turn.resolve(undefined)
    },
  }
}

/** All that can happen in this turn of the event loop has happened. */
const turnEnds = () => new Promise<void>((resolve) => process.nextTick(resolve))

/** All that can happen without a timer has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('starts the work in the same turn, once, when it is woken', async () => {
  const worker = testWorker({})
  worker.wake(1)
  await turnEnds()
  expect(worker.begun).toEqual([1])
  await worker.run(2)
  await settled()
  expect(worker.begun).toEqual([1, 2])
})

test('runs one more round after any number of wakes during the work', async () => {
  const { enter, letOneOut, inside } = gate()
  const worker = testWorker({ work: enter })
  worker.wake(1)
  await turnEnds()
  for (let wake = 0; wake < 3; wake += 1) worker.wake(1)
  expect(worker.begun).toEqual([1])
  letOneOut()
  await vi.waitFor(() => expect(inside()).toBe(1), patienceMs)
  expect(worker.begun).toEqual([1, 1])
  letOneOut()
  await settled()
  await settled()
  expect(worker.begun).toEqual([1, 1])
})

test('repeats work after the delay that it returns, earlier after a wake, and never without a delay', async () => {
  const answers = [1, 3_600_000, undefined]
  const worker = testWorker({ work: async () => answers.shift() })
  worker.wake(1)
  await vi.waitFor(() => expect(answers).toEqual([undefined]), patienceMs)
  worker.wake(1)
  await vi.waitFor(() => expect(answers).toEqual([]), patienceMs)
  expect(worker.begun).toEqual([1, 1, 1])
})

test('logs an error with its row id, and continues the lane', async () => {
  let failures = 2
  const worker = testWorker({
    async work() {
      failures -= 1
      if (failures >= 0) throw new Error('the disk is full')
      return undefined
    },
  })
  worker.wake(7)
  await vi.waitFor(() => expect(failures).toBeLessThan(0), patienceMs)
  const told = worker.logged.map((line) => JSON.parse(line))
  expect(told.map(({ row_id, err }) => [row_id, err.message])).toEqual(Array(2).fill([7, 'the disk is full']))
})

test('logs a failed read of the store, and continues the work', async () => {
  let locked = false
  const claim = async () => {
    if (locked) throw new Error('database is locked')
    return true
  }
  const worker = testWorker({ claim, find: async () => [1], work: async () => 1 })
  await vi.waitFor(() => expect(worker.begun.length).toBeGreaterThan(1), patienceMs)
  locked = true
  await vi.waitFor(() => expect(worker.logged.join()).toContain('database is locked'), patienceMs)
  expect(() => worker.wake(2)).not.toThrow()
  locked = false
  const { length } = worker.begun
  await vi.waitFor(() => expect(worker.begun.length).toBeGreaterThan(length), patienceMs)
})

test('does not delay other rows by a slow one, and works on a row once at a time', async () => {
  const { enter, letAllOut } = gate()
  const worker = testWorker({ work: (rowId) => (rowId === 1 ? enter() : Promise.resolve(undefined)) })
  worker.wake(1)
  for (const rowId of [2, 3, 4]) await worker.run(rowId)
  worker.wake(1)
  expect(worker.begun.filter((rowId) => rowId === 1)).toEqual([1])
  expect(new Set(worker.begun)).toEqual(new Set([1, 2, 3, 4]))
  letAllOut()
})

test('waits in run() for a round that started after the call', async () => {
  const { enter, letOneOut, inside } = gate()
  const worker = testWorker({ work: enter })
  worker.wake(1)
  await turnEnds()
  let done = false
  const run = worker.run(1).then(() => {
    done = true
  })
  letOneOut()
  await vi.waitFor(() => expect(worker.begun).toHaveLength(2), patienceMs)
  expect([done, inside()]).toEqual([false, 1])
  letOneOut()
  await run
})

test('finds work in the store at the start, and after a change by another process', async () => {
  let [version, rowIds] = [1, [5]]
  const worker = testWorker({ find: async () => rowIds, version: () => version })
  await vi.waitFor(() => expect(worker.begun).toContain(5), patienceMs)
  rowIds = [6]
  version = 2
  await vi.waitFor(() => expect(worker.begun).toContain(6), patienceMs)
})

test('does not work without the lease, and finds the work when it gets the lease', async () => {
  let mine = false
  let polls = 0
  const find = async () => {
    polls += 1
    return [1]
  }
  const worker = testWorker({ claim: async () => mine, find, version: () => polls })
  worker.wake(1)
  await worker.run(1)
  await vi.waitFor(() => expect(polls).toBeGreaterThan(2), patienceMs)
  expect(worker.begun).toEqual([])
  mine = true
  await vi.waitFor(() => expect(worker.begun).toContain(1), patienceMs)
})

test('stops a lane when the lease is lost', async () => {
  let [mine, polls] = [true, 0]
  const find = async () => {
    polls += 1
    return []
  }
  const worker = testWorker({ claim: async () => mine, find, version: () => polls, work: async () => 1 })
  worker.wake(1)
  await vi.waitFor(() => expect(worker.begun.length).toBeGreaterThan(2), patienceMs)
  mine = false
  await worker.run(1)
  const [{ length }, before] = [worker.begun, polls]
  // Each poll is 25 ms, in which a lane that goes on works a dozen times.
  await vi.waitFor(() => expect(polls).toBeGreaterThan(before + 2), patienceMs)
  expect(worker.begun).toHaveLength(length)
})

test('signals the work to stop, waits for its end, and starts nothing afterwards', async () => {
  const { enter, letAllOut } = gate()
  let signal: AbortSignal | undefined
  const worker = testWorker({
    work(_, given) {
      signal = given
      return enter()
    },
  })
  worker.wake(1)
  await turnEnds()
  worker.wake(1)
  let stopped = false
  const stop = worker.stop().then(() => {
    stopped = true
  })
  await settled()
  expect([stopped, signal?.aborted]).toEqual([false, true])
  letAllOut()
  await stop
  worker.wake(1)
  worker.wake(2)
  expect(worker.begun).toEqual([1])
})

test('does not wait for sleeping lanes at a stop', async () => {
  const worker = testWorker({ work: async () => 3_600_000 })
  await worker.run(1)
  await worker.stop()
})

test('continues to search for work when the clock is set back', async () => {
  let polls = 0
  const find = async () => {
    polls += 1
    return []
  }
  testWorker({ find })
  await vi.waitFor(() => expect(polls).toBeGreaterThan(0), patienceMs)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 86_400_000 })
  onTestFinished(() => void vi.useRealTimers())
  const before = polls
  await vi.waitFor(() => expect(polls).toBeGreaterThan(before), patienceMs)
})

test('discards the state of a row when its lease was lost and taken again between two rounds', async () => {
  let lease = 1
  const done: string[] = []
  const worker = testWorker({
    lease: () => lease,
    leave: async (rowId) => void done.push(`left ${rowId}`),
    work: async (rowId) => {
      done.push(`worked on ${rowId}`)
      return 3_600_000
    },
  })
  await worker.run(1)
  await worker.run(1)
  lease = 2
  await worker.run(1)
  await worker.run(1)
  expect(done).toEqual(['worked on 1', 'worked on 1', 'left 1', 'worked on 1', 'worked on 1'])
})

test('failures while the database is down are not logged again: the store has logged it once', async () => {
  const failures = [new StoreUnavailable({ isLogged: true }), new StoreUnavailable()]
  for (const failure of failures) {
    const worker = testWorker({ work: () => Promise.reject(failure) })
    worker.wake(1)
    await vi.waitUntil(() => worker.begun.length > 0, patienceMs)
    await settled()
    expect(worker.logged.some((line) => line.includes('background work failed'))).toBe(!failure.isLogged)
  }
})
