import { expect, test } from 'vitest'
import { Repeats } from '../../../server/api/json-rpc/repeats.ts'

/** A caller's call that loses its connection when `broken` is called. */
function callOf(caller: string, content: number) {
  let hasLeft = false
  let closed = () => {}
  const call = {
    caller,
    content,
    id: content,
    request: { hasLeft: () => hasLeft },
    onClose(its: () => void) {
      closed = its
    },
  }
  const broken = () => {
    hasLeft = true
    closed()
  }
  return { call, broken, closed: () => closed() }
}

test('forgets no call that must still be recognized: beyond 10,000 of a caller it refuses, and holds up no other caller', async () => {
  let time = 0
  const repeats = new Repeats(() => time)
  const paid: string[] = []
  const pay = (caller: string, content: number) => {
    const its = callOf(caller, content)
    const result = repeats.once(its.call, async () => void paid.push(`${caller} ${content}`))
    return { ...its, result }
  }
  for (let content = 0; content < 10_000; content += 1) pay('shop', content).broken()
  await expect(pay('shop', 10_000).result).rejects.toMatchObject({
    code: -32_005,
    message: expect.stringContaining('Idempotency-Key'),
  })
  // The first one, repeated, is not paid again.
  await pay('shop', 0).result
  await pay('other', 0).result
  expect(paid).toHaveLength(10_001)
  expect(paid.at(-1)).toBe('other 0')

  time = 60_000
  await pay('shop', 10_000).result
  await pay('shop', 0).result
  expect(paid.slice(-2)).toEqual(['shop 10000', 'shop 0'])
})

test('recognizes a call that came when those before it were forgotten', async () => {
  let time = 0
  const repeats = new Repeats(() => time)
  let paid = 0
  const pay = async (content: number) => {
    const { call, broken } = callOf('shop', content)
    await repeats.once(call, async () => (paid += 1))
    broken()
  }
  for (let content = 0; content < 10_000; content += 1) await pay(content)
  time = 60_000
  await pay(10_000)
  await pay(10_000)
  expect(paid).toBe(10_001)
})

test('forgets a call with its answer: the same call is a new one', async () => {
  const repeats = new Repeats(() => 0)
  let paid = 0
  for (let count = 0; count < 3; count += 1) {
    const { call, closed } = callOf('shop', 1)
    await repeats.once(call, async () => (paid += 1))
    closed()
  }
  expect(paid).toBe(3)
})
