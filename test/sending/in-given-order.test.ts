import { expect, test } from 'vitest'
import { mapInOrder } from '../../server/lib/in-order.ts'

test('yields results in the order of the items, whichever is ready first', async () => {
  const gates = [0, 1, 2, 3].map(() => Promise.withResolvers<void>())
  const groups: number[][] = []
  const read = (async () => {
    for await (const results of mapInOrder(
      [0, 1, 2, 3],
      () => 4,
      (item) => gates[item]?.promise.then(() => item) ?? Promise.reject(),
    )) {
      groups.push(results.map((result) => (result.status === 'fulfilled' ? result.value : -1)))
    }
  })()
  for (const index of [2, 1, 3, 0]) gates[index]?.resolve()
  await read
  expect(groups.flat()).toEqual([0, 1, 2, 3])
})

test('follows the limit of items in progress, and aborts the signal when the caller stops', async () => {
  let limit = 2
  const started: number[] = []
  const signals: AbortSignal[] = []
  const gates = Array.from({ length: 9 }, () => Promise.withResolvers<number>())
  const results = mapInOrder(
    gates.map((_, index) => index),
    () => limit,
    (item, signal) => {
      started.push(item)
      signals.push(signal)
      return gates[item]?.promise ?? Promise.reject()
    },
  )
  const first = results.next()
  expect(started).toEqual([0, 1])
  limit = 4
  gates[0]?.resolve(0)
  await first
  expect(started).toEqual([0, 1, 2, 3, 4])
  await results.return(undefined)
  expect(signals.map(({ aborted }) => aborted)).toEqual(Array(5).fill(true))
  gates[1]?.resolve(1)
  await gates[1]?.promise
  expect(started).toHaveLength(5)
})
