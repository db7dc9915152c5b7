import { expect, test } from 'vitest'
import { memberText, memberValue } from '../../client/console/components/members.ts'

const of = { symbol: 'ETH', asset: undefined }

test.each([
  ['rpc_urls', 'Nodes'],
  ['average_blocktime_ms', 'Average block time'],
  ['paused', 'Paused'],
  ['policies.max_value_per_day', 'Value limit per day'],
  ['policies.gas_price_cap', 'Gas price limit'],
  ['budget.max_transactions_per_hour', 'Budget, max transactions per hour'],
  ['max_fee_per_call', 'Fee limit per call'],
])('names a member as the pages do: %s', (member, text) => expect(memberText(member)).toBe(text))

test.each([
  ['average_blocktime_ms', null, 'not set'],
  ['average_blocktime_ms', 500, '500 ms'],
  ['paused', true, 'yes'],
  ['relayer_ids', null, 'all'],
  ['relayer_ids', ['a', 'b'], 'a, b'],
  ['rpc_urls', [{ url: 'https://node.example', weight: 100 }], 'https://node.example, weight 100'],
  ['policies.max_value', '1500000000000000000', '1.5 ETH'],
  ['policies.gas_price_cap', '90000000001', '90.000000001 gwei'],
  ['policies.max_pending', 12, '12'],
  ['budget.max_fee_per_day', '5', '0.000000000000000005 ETH'],
  ['wait_seconds', 20, '20 s'],
])('shows a value in words and with its unit, exactly: %s %j', (member, value, text) =>
  expect(memberValue(member, value, of).replaceAll('\u00a0', ' ')).toBe(text),
)

test('shows amounts of a funding in coins only where they are known to be coins', () => {
  expect(memberValue('min_balance', '1000000000000000000', { symbol: 'ETH', asset: 'coin' })).toBe('1\u00a0ETH')
  expect(memberValue('min_balance', '1000000', { symbol: 'ETH', asset: undefined })).toBe('1000000')
  expect(memberValue('policies.min_balance', '1000000000000000000', of)).toBe('1\u00a0ETH')
})
