import type { RelayerPolicies, RelayerPoliciesPatch } from '../../index.ts'
import { linesOf } from './form.ts'

/** How a policy is shown and entered. `unit`: the unit of an amount in wei. `lines`: of a list, what each line has. */
export interface PolicyForm {
  name: keyof RelayerPolicies & keyof RelayerPoliciesPatch
  title: string
  unit: 'gwei' | 'coins' | 'number' | 'yes' | 'lines'
  lines?: string
  /** `unit`: of amounts, the currency of the network. */
  words: (value: string, unit: string) => string
  none: string
}

export const policy_forms: PolicyForm[] = [
  {
    name: 'gas_price_cap',
    title: 'gas price limit',
    unit: 'gwei',
    words: (value) => `Pays at most ${value} gwei per unit of gas.`,
    none: 'No limit on the price per unit of gas.',
  },
  {
    name: 'max_fee_multiple',
    title: 'price multiple',
    unit: 'number',
    words: (value) => `Bumps fees up to ${value} times the market price.`,
    none: 'Bumps fees up to 5 times the market price.',
  },
  {
    name: 'max_fee_per_transaction',
    title: 'fee limit per transaction',
    unit: 'coins',
    words: (value, unit) => `Spends at most ${value} ${unit} on the fee of one transaction.`,
    none: 'No limit on the fee of one transaction.',
  },
  {
    name: 'max_fee_per_day',
    title: 'fee limit per day',
    unit: 'coins',
    words: (value, unit) => `Spends at most ${value} ${unit} on fees per day.`,
    none: 'No limit on fees per day.',
  },
  {
    name: 'max_value',
    title: 'value limit per transaction',
    unit: 'coins',
    words: (value, unit) => `Sends at most ${value} ${unit} per transaction.`,
    none: 'No limit on the value of one transaction.',
  },
  {
    name: 'max_value_per_day',
    title: 'value limit per day',
    unit: 'coins',
    words: (value, unit) => `Sends at most ${value} ${unit} per day.`,
    none: 'No limit on the value per day.',
  },
  {
    name: 'min_balance',
    title: 'minimum balance',
    unit: 'coins',
    words: (value, unit) => `Sends only while the balance is at least ${value} ${unit}.`,
    none: 'Sends whatever the balance is.',
  },
  {
    name: 'max_unfinished',
    title: 'limit of unfinished transactions',
    unit: 'number',
    words: (value) => `Accepts at most ${value} unfinished transactions.`,
    none: 'Accepts the default number of unfinished transactions.',
  },
  {
    name: 'max_gap_fills_per_hour',
    title: 'limit of gap fills per hour',
    unit: 'number',
    words: (value) => `Uses up at most ${value} free nonces per hour by transfers to itself.`,
    none: 'Uses up at most 10 free nonces per hour by transfers to itself.',
  },
  {
    name: 'whitelist_receivers',
    title: 'allowed receivers',
    unit: 'lines',
    lines: 'one address per line',
    words: (value) => `Sends only to ${counted(value, 'receiver')}.`,
    none: 'Sends to any receiver.',
  },
  {
    name: 'allowed_functions',
    title: 'allowed functions',
    unit: 'lines',
    lines: 'a receiver and the selectors of its functions per line; 0x is a transfer without data',
    words: (value) => `Calls only the listed functions of ${counted(value, 'receiver')}.`,
    none: 'Calls any function.',
  },
  {
    name: 'token_limits',
    title: 'token limits',
    unit: 'lines',
    lines:
      'a token, the highest amount per transaction and the highest per day, in its smallest unit, per line; - for none; then "signatures" to allow and count those that move it',
    words: (value) => `Limits transfers of ${counted(value, 'token')}.`,
    none: 'No limits on transfers of tokens.',
  },
  {
    name: 'allowed_domain_separators',
    title: 'allowed domains of typed data',
    unit: 'lines',
    lines: 'one domain separator per line',
    words: (value) => `Signs typed data of ${counted(value, 'domain')} only.`,
    none: 'Signs typed data of any domain.',
  },
  {
    name: 'allow_transactions',
    title: 'permission for transactions',
    unit: 'yes',
    words: (value) => `${value === 'yes' ? 'Takes' : 'Does not take'} transactions.`,
    none: 'Takes transactions.',
  },
  {
    name: 'allow_authorizations',
    title: 'permission for EIP-7702 authorizations',
    unit: 'yes',
    words: (value) => `${value === 'yes' ? 'Signs and sends' : 'Neither signs nor sends'} EIP-7702 authorizations.`,
    none: 'Neither signs nor sends EIP-7702 authorizations.',
  },
  {
    name: 'allowed_delegates',
    title: 'allowed delegates',
    unit: 'lines',
    lines: 'one address per line',
    words: (value) => `Signs EIP-7702 authorizations for ${counted(value, 'contract')} only.`,
    none: 'Signs EIP-7702 authorizations for its allowed receivers, or for any contract while it has no limits.',
  },
  {
    name: 'allow_blind_typed_data',
    title: 'permission for hashes of typed data',
    unit: 'yes',
    words: (value) => `${value === 'yes' ? 'Signs' : 'Does not sign'} hashes of typed data.`,
    none: 'Signs hashes of typed data.',
  },
  {
    name: 'allow_messages',
    title: 'permission for messages',
    unit: 'yes',
    words: (value) => `${value === 'yes' ? 'Signs' : 'Does not sign'} messages.`,
    none: 'Signs messages.',
  },
  {
    name: 'allow_sign_transaction',
    title: 'permission to sign without sending',
    unit: 'yes',
    words: (value) => `${value === 'yes' ? 'Signs' : 'Does not sign'} transactions without sending them.`,
    none: 'Signs transactions without sending them, unless a spending limit is set.',
  },
]

export const policy_groups: [string, PolicyForm['name'][]][] = [
  ['Fees', ['gas_price_cap', 'max_fee_multiple', 'max_fee_per_transaction', 'max_fee_per_day']],
  ['Values', ['max_value', 'max_value_per_day', 'min_balance', 'token_limits']],
  ['Receivers', ['whitelist_receivers', 'allowed_functions']],
  ['Queue', ['allow_transactions', 'max_unfinished', 'max_gap_fills_per_hour']],
  [
    'Signatures',
    [
      ...(['allow_messages', 'allow_blind_typed_data', 'allowed_domain_separators'] as const),
      ...(['allow_authorizations', 'allowed_delegates', 'allow_sign_transaction'] as const),
    ],
  ],
]

const counted = (text: string, what: string): string => {
  const lines = linesOf(text).length
  return lines === 1 ? `1 ${what}` : `${lines} ${what}s`
}
