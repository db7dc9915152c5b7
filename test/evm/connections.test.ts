import { expect, test } from 'vitest'
import { createChains } from '../../server/evm/chains.ts'
import type { Store } from '../../server/store/store.ts'

const network = { id: 'evm:local', name: 'local', chain_id: 31_337, rpc_urls: [], private_rpc_urls: [] }
const store = { generation: async () => 1, getNetwork: async () => network } as unknown as Store

test('keeps the connections of at most 300 sets of URLs, and those that were used last', async () => {
  const opened: string[] = []
  const openPost = (url: string) => {
    opened.push(url)
    return () => Promise.reject(new Error('No node'))
  }
  const chains = createChains(store, undefined, () => 0, {}, openPost)
  const use = (index: number) =>
    chains.networkClient({ network: 'local', custom_rpc_urls: [{ url: `http://127.0.0.1/${index}`, weight: 100 }] })
  for (let index = 0; index < 3_000; index += 1) {
    await use(index)
    // In use all the time.
    await use(0)
  }
  const before = opened.length
  await use(0)
  await use(2_999)
  await use(2_702)
  expect(opened.length).toBe(before)
  await use(2_000)
  expect(opened.length).toBeGreaterThan(before)
})
