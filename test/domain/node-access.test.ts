import { expect, test } from 'vitest'
import { FairTurns, NodeAccess } from '../../server/domain/node-access.ts'

/** Work that ends when the test says so. */
function open(limits: ConstructorParameters<typeof FairTurns>[0]) {
  const turns = new FairTurns(limits)
  const running: { key: string; end(): void }[] = []
  const ask = (key: string) =>
    turns.run(key, () => new Promise<void>((resolve) => void running.push({ key, end: resolve })))
  const count = (key: string) => running.filter((its) => its.key === key).length
  const turn = () => new Promise(setImmediate)
  /** Ends the oldest work of the key. */
  const end = async (key: string) => {
    const [its] = running.splice(
      running.findIndex((one) => one.key === key),
      1,
    )
    its?.end()
    await turn()
  }
  return { ask, count, end, turn }
}

test('gives a key a turn at once however much work of another key runs and waits', async () => {
  const { ask, count, turn } = open({ limit: 8, each: 4 })
  for (let index = 0; index < 300; index += 1) void ask('a')
  void ask('b')
  await turn()
  expect([count('a'), count('b')]).toEqual([4, 1])
})

test('leaves a part for the next key, and gives returned turns to the keys one after another', async () => {
  const { ask, count, end, turn } = open({ limit: 8, each: 4 })
  const keys = ['a', 'b', 'c', 'd']
  for (const key of keys) for (let index = 0; index < 100; index += 1) void ask(key)
  await turn()
  expect(keys.map(count)).toEqual([4, 2, 1, 1])
  for (let index = 0; index < 3; index += 1) await end('a')
  // None holds more than all of them leave free.
  expect(keys.map(count)).toEqual([2, 2, 2, 1])
})

test('refuses work of a key of which too much waits, and none of others', async () => {
  const { ask, count, turn } = open({ limit: 4, each: 1, max_waiting: 2 })
  for (let index = 0; index < 3; index += 1) void ask('a')
  await turn()
  await expect(ask('a')).rejects.toMatchObject({ code: 'rate_limited', faults: [{ of: 'node_calls' }] })
  void ask('b')
  await turn()
  expect(count('b')).toBe(1)
})

test('bounds the calls of one request, and counts those beyond the first eight as requests', () => {
  let counted = 0
  const access = new NodeAccess('a', () => {
    counted += 1
  })
  for (let call = 0; call < 8; call += 1) access.take()
  expect(counted).toBe(0)
  access.take()
  expect(counted).toBe(1)
  for (let call = 9; call < 500; call += 1) access.take()
  expect(() => access.take()).toThrow(expect.objectContaining({ code: 'rate_limited' }))
  access.extend(1)
  for (let call = 0; call < 10; call += 1) access.take()
  expect(() => access.take()).toThrow(expect.objectContaining({ code: 'rate_limited' }))
})
