import type { RelayerPolicies, RelayerPoliciesPatch } from '../../index.ts'
import { type EntryPart, linesOf } from '../data/entries.ts'
import { counted } from '../data/format.ts'

export type PolicyName = keyof RelayerPolicies & keyof RelayerPoliciesPatch

/** How a policy is shown and entered. `unit`: the unit of an amount in wei. `list`: what each entry of a list has. */
export interface PolicyForm {
  title: string
  unit: 'gwei' | 'coins' | 'number' | 'yes' | 'lines'
  list?: { one: string; parts: readonly EntryPart[]; hint?: string }
  /** `unit`: of amounts, the currency of the network. */
  words: (value: string, unit: string) => string
  none: string | ((policies: RelayerPolicies) => string)
  /** It has an effect only while this one is set to yes. */
  needs?: PolicyName
}

/** A policy that is `yes` or `no`. */
const permission = (
  title: string,
  [does, doesNot]: [yes: string, no: string],
  what: string,
  none: string,
): PolicyForm => ({ title, unit: 'yes', words: (value) => `${value === 'yes' ? does : doesNot} ${what}`, none })

/** Which contracts an authorization may be for without a list of them. */
function delegatesOf({ whitelist_receivers, ...its }: RelayerPolicies): string {
  if (whitelist_receivers !== undefined) return 'Signs authorizations for the allowed receivers only.'
  const isLimited = its.max_value ?? its.max_value_per_day ?? its.token_limits ?? its.allowed_functions
  return isLimited === undefined
    ? 'Signs authorizations for any contract.'
    : 'Signs no authorizations: values, tokens or functions are limited, and no contract is allowed.'
}

const contract = (label: string): EntryPart => ({ label, placeholder: '0x…', isAddress: true })

/** In the groups of the page. */
export const policyForms: Record<string, Partial<Record<PolicyName, PolicyForm>>> = {
  Fees: {
    gas_price_cap: {
      title: 'gas price limit',
      unit: 'gwei',
      words: (value) => `Pays at most ${value} gwei per unit of gas.`,
      none: 'No limit on the price per unit of gas.',
    },
    max_fee_multiplier: {
      title: 'price multiplier',
      unit: 'number',
      words: (value) => `Raises fees up to ${value} times the market price.`,
      none: 'Raises fees up to 5 times the market price.',
    },
    max_fee_per_transaction: {
      title: 'fee limit per transaction',
      unit: 'coins',
      words: (value, unit) => `Spends at most ${value} ${unit} on the fee of one transaction.`,
      none: 'No limit on the fee of one transaction.',
    },
    max_fee_per_day: {
      title: 'fee limit per day',
      unit: 'coins',
      words: (value, unit) => `Spends at most ${value} ${unit} on fees per day.`,
      none: 'No limit on fees per day.',
    },
  },
  Values: {
    max_value: {
      title: 'value limit per transaction',
      unit: 'coins',
      words: (value, unit) => `Sends at most ${value} ${unit} per transaction.`,
      none: 'No limit on the value of one transaction.',
    },
    max_value_per_day: {
      title: 'value limit per day',
      unit: 'coins',
      words: (value, unit) => `Sends at most ${value} ${unit} per day.`,
      none: 'No limit on the value per day.',
    },
    min_balance: {
      title: 'minimum balance',
      unit: 'coins',
      words: (value, unit) => `Sends only while the balance is at least ${value} ${unit}.`,
      none: 'Sends at any balance.',
    },
    token_limits: {
      title: 'token limits',
      unit: 'lines',
      list: {
        one: 'token',
        hint: 'An empty amount is no limit.',
        parts: [
          contract('Token'),
          { label: 'Limit per transaction', placeholder: 'per transaction', isAmount: true },
          { label: 'Limit in 24 h', placeholder: 'in 24 h', isAmount: true },
          {
            label: 'Signatures that move it',
            values: [
              ['', 'do not allow'],
              ['signatures', 'allow and count'],
            ],
          },
        ],
      },
      words: (value) => `Limits transfers of ${linesText(value, 'token')}.`,
      none: 'No limits on transfers of tokens.',
    },
  },
  Receivers: {
    whitelist_receivers: {
      title: 'allowed receivers',
      unit: 'lines',
      list: { one: 'receiver', parts: [contract('Receiver')] },
      words: (value) => `Sends only to ${linesText(value, 'receiver')}.`,
      none: 'Sends to any receiver.',
    },
    allowed_functions: {
      title: 'allowed functions',
      unit: 'lines',
      list: {
        one: 'receiver',
        hint: '0x is a transfer without data.',
        parts: [contract('Receiver'), { label: 'Selectors of its functions', placeholder: '0xa9059cbb 0x' }],
      },
      words: (value) => `Calls only the listed functions of ${linesText(value, 'receiver')}.`,
      none: 'Calls any function.',
    },
  },
  Queue: {
    max_pending: {
      title: 'limit of unfinished transactions',
      unit: 'number',
      words: (value) => `Accepts at most ${value} unfinished transactions.`,
      none: 'Accepts at most 10,000 unfinished transactions.',
    },
    max_gap_fills_per_hour: {
      title: 'limit of gap fills per hour',
      unit: 'number',
      words: (value) => `Fills at most ${value} nonce gaps per hour with transfers to itself.`,
      none: 'Fills at most 10 nonce gaps per hour with transfers to itself.',
    },
    allow_transactions: permission(
      'permission for transactions',
      ['Accepts', 'Does not accept'],
      'transactions.',
      'Accepts transactions.',
    ),
  },
  Signatures: {
    allowed_domain_separators: {
      title: 'allowed domains of typed data',
      unit: 'lines',
      list: { one: 'domain separator', parts: [{ label: 'Domain separator', placeholder: '0x…' }] },
      words: (value) => `Signs typed data of ${linesText(value, 'domain')} only.`,
      none: 'Signs typed data of any domain.',
    },
    allow_authorizations: permission(
      'permission for EIP-7702 authorizations',
      ['Signs and sends', 'Neither signs nor sends'],
      'EIP-7702 authorizations.',
      'Neither signs nor sends EIP-7702 authorizations.',
    ),
    allowed_delegates: {
      title: 'allowed delegates',
      unit: 'lines',
      list: { one: 'delegate', parts: [contract('Delegate')] },
      words: (value) => `Signs authorizations for ${linesText(value, 'contract')} only.`,
      none: delegatesOf,
      needs: 'allow_authorizations',
    },
    allow_blind_typed_data: permission(
      'permission for hashes of typed data',
      ['Signs', 'Does not sign'],
      'hashes of typed data.',
      'Signs hashes of typed data.',
    ),
    allow_messages: permission('permission for messages', ['Signs', 'Does not sign'], 'messages.', 'Signs messages.'),
    allow_sign_transaction: permission(
      'permission to sign without sending',
      ['Signs', 'Does not sign'],
      'transactions without sending them.',
      'Signs transactions without sending them, unless a spending limit is set.',
    ),
  },
}

const linesText = (text: string, one: string): string => counted(linesOf(text).length, one)
