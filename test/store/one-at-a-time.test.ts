import { expect, test } from 'vitest'
import { oneAtATime } from '../../server/store/postgres/coalesce.ts'

test('shares a read among all who ask while another one is under way, and begins it after they have asked', async () => {
  let value = 0
  const answers: (() => void)[] = []
  const read = oneAtATime(() => {
    const seen = value
    return new Promise<number>((resolve) => answers.push(() => resolve(seen)))
  })
  const first = [read(), read()]
  await expect.poll(() => answers.length).toBe(1)
  const second = [read()]
  value = 1
  second.push(read())
  await new Promise((resolve) => setImmediate(resolve))
  expect(answers).toHaveLength(1)
  answers[0]?.()
  expect(await Promise.all(first)).toEqual([0, 0])
  await expect.poll(() => answers.length).toBe(2)
  answers[1]?.()
  expect(await Promise.all(second)).toEqual([1, 1])
})

test('fails all who share a failed read, and reads again for the next', async () => {
  const results = [async () => 1, () => Promise.reject<number>(new Error('down'))]
  const read = oneAtATime(() => (results.pop() as () => Promise<number>)())
  const both = await Promise.allSettled([read(), read()])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await read()).toBe(1)
})
