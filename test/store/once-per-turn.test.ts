import { expect, test } from 'vitest'
import { oncePerTurn } from '../../server/store/sqlite.ts'

test('shares a read among callers of one turn, which sees all earlier changes', async () => {
  let value = 0
  let reads = 0
  const read = oncePerTurn(() => {
    reads += 1
    return value
  })
  const first = read()
  value = 1
  const second = read()
  expect(await Promise.all([first, second])).toEqual([1, 1])
  expect(reads).toBe(1)
  value = 2
  expect(await read()).toBe(2)
})

test('fails all callers of a failed read, and reads again in the next turn', async () => {
  const results = [
    () => 1,
    (): number => {
      throw new Error('disk')
    },
  ]
  const read = oncePerTurn(() => (results.pop() as () => number)())
  const both = await Promise.allSettled([read(), read()])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await read()).toBe(1)
})
