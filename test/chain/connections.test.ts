import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Chains } from '../../server/chain/chains.ts'
import type { Post } from '../../server/chain/post.ts'
import type { Store } from '../../server/store/store.ts'

const network = { id: 'evm:local', name: 'local', chain_id: 31_337, rpc_urls: [], private_rpc_urls: [] }

/** A client per URL, of which the configuration names those of `named`. */
function open() {
  const named = new Set<number>()
  const configuration = { generation: 1, network: async () => network }
  const urlsOf = (index: number) => [{ url: `http://127.0.0.1/${index}`, weight: 100 }]
  const store = {
    generation: async () => configuration.generation,
    getNetwork: () => configuration.network(),
    namedEndpoints: async () => [...named].map((index) => ({ network, custom_rpc_urls: urlsOf(index) })),
  } as unknown as Store
  const opened: string[] = []
  const closed: string[] = []
  const openPost = (url: string): Post => {
    opened.push(url)
    return Object.assign(() => Promise.reject(new Error('No node')), { close: () => void closed.push(url) })
  }
  const chains = new Chains({ store, openPost, checkTarget: () => undefined, now: () => 0, observer: {} })
  const use = (index: number) => chains.networkClient({ network: 'local', custom_rpc_urls: urlsOf(index) })
  return { named, configuration, opened, closed, use }
}

test('keeps the connections of at most 300 sets of URLs, those that were used last, and closes the others', async () => {
  const { opened, closed, use } = open()
  for (let index = 0; index < 3_000; index += 1) {
    await use(index)
    // In use all the time.
    await use(0)
  }
  expect(opened.length - closed.length).toBe(2 * 300)
  const before = opened.length
  await use(0)
  await use(2_999)
  await use(2_702)
  expect(opened.length).toBe(before)
  await use(2_000)
  expect(opened.length).toBeGreaterThan(before)
})

test('closes at once what the configuration no longer names', async () => {
  const { named, configuration, opened, closed, use } = open()
  named.add(0)
  for (let change = 1; change <= 100; change += 1) {
    named.delete(change - 1)
    named.add(change).add(0)
    configuration.generation += 1
    await use(0)
    await use(change)
  }
  await expect.poll(() => new Set(closed).size).toBe(99)
  expect(closed).not.toContain('http://127.0.0.1/0')
  expect(closed).not.toContain('http://127.0.0.1/100')
  expect(opened.length - closed.length).toBe(2 * 2)
})

test('keeps no network that was read before a change of the configuration and answered after it', async () => {
  const { configuration, use } = open()
  const late = Promise.withResolvers<typeof network>()
  configuration.network = () => late.promise
  const before = use(0)
  await setImmediate()
  const changed = { ...network, chain_id: 1 }
  configuration.generation += 1
  configuration.network = async () => changed
  await use(0)
  late.resolve(network)
  await before
  expect((await use(0))?.network).toEqual(changed)
})
