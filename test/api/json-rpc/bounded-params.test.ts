import { expect, test } from 'vitest'
import { jsonRpcOf } from '../../support/json-rpc.ts'
import { startTestService } from '../../support/service.ts'

const to = `0x${'5a'.repeat(20)}`
const keys = (count: number) => Array.from({ length: count }, (_, index) => `0x${index.toString(16).padStart(64, '0')}`)

test.each<[string, Record<string, unknown>, string]>([
  [
    '9,000 storage keys',
    { accessList: [{ address: to, storageKeys: keys(9_000) }] },
    'accessList.0.storageKeys must NOT have more than 200 items',
  ],
  [
    'more than 200 storage keys in all',
    { accessList: [1, 2].map(() => ({ address: to, storageKeys: keys(101) })) },
    'accessList must have at most 200 storage keys in all',
  ],
  ['520 KB of data', { data: `0x${'ab'.repeat(520_000)}` }, 'data must NOT have more than'],
  [
    'a storage key that is none',
    { accessList: [{ address: to, storageKeys: [7] }] },
    'accessList.0.storageKeys.0 must be string',
  ],
  [
    'an address that is none',
    { accessList: [{ address: { length: 1 }, storageKeys: [] }] },
    'accessList.0.address must be string',
  ],
])('refuses eth_signTransaction with %s before anything is encoded', async (_, members, message) => {
  const service = await startTestService()
  const { call } = jsonRpcOf(service.url, service.api_key, 'demo')
  const prices = { nonce: '0x0', gas: '0x5208', maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x1' }
  const { error } = await call('eth_signTransaction', [{ to, ...prices, ...members }])
  expect(error).toMatchObject({ code: -32_602 })
  expect(error.message).toContain(message)
})
