import { expect, test } from 'vitest'
import { oncePerTurn } from '../../server/store/once-per-turn.ts'

test('those who ask in one turn share a read, which sees all that changed before the last of them asked', async () => {
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

test('a failed read fails for those who share it, and the next turn reads again', async () => {
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
