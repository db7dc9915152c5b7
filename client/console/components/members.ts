import { exactAmount, exactly, words } from '../data/format.ts'
import { duration } from '../data/times.ts'
import { policyForms } from '../relayers/policy-forms.ts'

/** What the pages call members, where these are not the words of the contract. */
const names: Record<string, string> = {
  ...{
    rpc_urls: 'nodes',
    custom_rpc_urls: 'own nodes',
    private_rpc_urls: 'private relays',
    explorer_urls: 'explorers',
  },
  ...{ average_blocktime_ms: 'average block time', is_testnet: 'test network', url: 'URL' },
  ...{ min_gas_price: 'lowest gas price', min_priority_fee_per_gas: 'lowest tip', max_fee_per_gas: 'gas price limit' },
  ...{ notification_ids: 'notifications', relayer_ids: 'relayers', pool_ids: 'pools', treasury_id: 'treasury' },
  ...{ allowed_cidrs: 'client addresses', pay_to: 'paid to', wait_seconds: 'wait for a block' },
  ...{ min_balance: 'refilled below', target_balance: 'refilled to', max_amount_per_day: 'limit per day' },
  ...{ max_fee_per_payment: 'fee limit per payment', max_fee_per_call: 'fee limit per call' },
  ...{ max_fee_per_day: 'fee limit per day', max_gas_per_call: 'gas limit per call' },
}

type Unit = 'gwei' | 'coins' | 'ms' | 'seconds'
/** By the last part of a member's name. */
const units: Record<string, Unit> = {
  ...{ average_blocktime_ms: 'ms', wait_seconds: 'seconds' },
  ...{ min_gas_price: 'gwei', min_priority_fee_per_gas: 'gwei', max_fee_per_gas: 'gwei' },
  ...{ max_fee_per_payment: 'coins', max_fee_per_call: 'coins', max_fee_per_day: 'coins' },
}

/** Of a funding: amounts of its asset. */
const refills: ReadonlySet<string> = new Set(['min_balance', 'target_balance', 'max_amount_per_day'])

const policies = new Map(Object.values(policyForms).flatMap((forms) => Object.entries(forms)))
const policyIn = (member: string) => {
  const [place, name = ''] = member.split('.')
  return place === 'policies' ? policies.get(name) : undefined
}

/** A member in words: `policies.max_value` is `Value limit per transaction`. */
export function memberText(member: string): string {
  const text =
    policyIn(member)?.title ??
    member
      .split('.')
      .map((name) => names[name] ?? words(name))
      .join(', ')
  return `${text[0]?.toUpperCase()}${text.slice(1)}`
}

/** What null means. */
const withoutLimit: Record<string, string> = { relayer_ids: 'all', allowed_cidrs: 'any', expires_at: 'never' }

/** What the units of amounts are: the symbol of the network's coin, and the asset of a funding. Undefined: not known. */
interface Amounts {
  symbol: string
  asset: string | undefined
}

/** A value in words and with its unit. */
export function memberValue(member: string, value: unknown, { symbol, asset }: Amounts): string {
  if (value === null || value === undefined) return withoutLimit[member] ?? 'not set'
  const isRefill = asset === 'coin' && refills.has(member)
  const unit = policyIn(member)?.unit ?? (isRefill ? 'coins' : units[member.split('.').at(-1) ?? ''])
  if (unit === 'ms') return unbroken(duration(Number(value)))
  if (unit === 'seconds') return unbroken(`${value} s`)
  if (unit === 'gwei' && isWhole(value)) return unbroken(`${exactly(`${value}`, 9)} gwei`)
  if (unit === 'coins' && isWhole(value)) return unbroken(exactAmount(`${value}`, symbol))
  return valueText(value)
}

/** A figure and its unit stand on one line. */
const unbroken = (text: string) => text.replaceAll(' ', '\u00a0')

const isWhole = (value: unknown) => /^\d+$/.test(`${value}`)

/** What is shown: `asset coin, max amount none; asset 0x12…, max amount 5`. A URL needs no name. */
function valueText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value !== 'object' || value === null) return `${value ?? 'none'}`
  const isOfObjects = Array.isArray(value) && typeof value[0] === 'object'
  const parts = Array.isArray(value)
    ? value.map(valueText)
    : Object.entries(value).map(([name, one]) => (name === 'url' ? `${one}` : `${words(name)} ${valueText(one)}`))
  return parts.join(isOfObjects ? '; ' : ', ') || 'none'
}
