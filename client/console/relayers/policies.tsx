import { useState } from 'react'
import type { Relayer, RelayerPolicies, RelayerPoliciesPatch } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { useEdited } from '../components/edited.tsx'
import { Entries, type EntryPart, Field, Select } from '../components/fields.tsx'
import { about, RelayerLink } from '../components/values.tsx'
import { FormError, linesOf } from '../data/form.ts'
import { counted, exactly, weiOf } from '../data/format.ts'
import { useSymbols } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'

/** The policies as sentences; each can be changed or removed. */
export function Policies({ relayer }: { relayer: Relayer }) {
  const { policies } = relayer
  const others = Object.entries(policies).filter(([name]) => !Object.values(policyForms).some((forms) => name in forms))
  return (
    <>
      {Object.entries(policyForms).map(([title, forms]) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <ul className="policies">
            {(Object.keys(forms) as PolicyName[])
              .sort((a, b) => isSet(relayer, b) - isSet(relayer, a))
              .map((name) => forms[name] && <Policy key={name} name={name} form={forms[name]} relayer={relayer} />)}
          </ul>
        </section>
      ))}
      {others.length > 0 && (
        <>
          <h2>Other policies</h2>
          <pre>{JSON.stringify(Object.fromEntries(others), null, 2)}</pre>
          <p className="hint">Change these with the API operation “Update a relayer”.</p>
        </>
      )}
    </>
  )
}

/** Those that are set come first. */
const isSet = ({ policies }: Relayer, name: PolicyName) => Number(policies[name] !== undefined)

interface PolicyProps {
  name: PolicyName
  form: PolicyForm
  relayer: Relayer
}

function Policy({ name, form: { title, unit, list, words, none, needs }, relayer }: PolicyProps) {
  const { may } = useSession()
  const current = relayer.policies[name]
  const shown = current === undefined ? undefined : unit === 'lines' ? textOf(current) : shownIn(unit, current)
  const [changed, setChanged] = useState<string>()
  /** Of a list, which may be empty: whether it is there. */
  const [isLimited, setLimited] = useState(current !== undefined)
  const { opened, open, lack, difference } = useEdited(relayer, () => {
    setChanged(undefined)
    setLimited(current !== undefined)
  })
  const symbol = useSymbols()(relayer.network)
  const typed = changed ?? shown ?? ''
  const label = `${title[0]?.toUpperCase()}${title.slice(1)}`
  const ofUnit = unit === 'coins' ? ` in ${symbol}` : unit === 'gwei' ? ' in gwei' : ''
  const named = (
    <>
      {label}
      {unit !== 'yes' && !list && `${ofUnit} (empty: default)`} <code className="hint">{name}</code>
    </>
  )
  const field = {
    name,
    value: typed,
    onChange: ({ target }: { target: { value: string } }) => setChanged(target.value),
  }
  const value = list ? (isLimited ? listIn(name, typed) : null) : typed.trim() === '' ? null : valueIn(unit, typed)
  // An empty list allows nothing, where no list is no limit.
  const textIn = (its: string | undefined) =>
    its === undefined
      ? typeof none === 'string'
        ? none
        : none(relayer.policies)
      : its === ''
        ? 'Nothing is allowed: the list is empty.'
        : words(its, symbol)
  const isIdle = needs !== undefined && !relayer.policies[needs]
  const mayBeEmpty = name !== 'allowed_functions' && name !== 'token_limits'
  const isEmpty = !mayBeEmpty && isLimited && typed.trim() === ''
  const body = { policies: { [name]: value } as RelayerPoliciesPatch }
  const said = value === undefined ? shown : value === null ? undefined : typed.trim()
  const isSame = typed === (shown ?? '') && (!list || isLimited === (current !== undefined))
  return (
    <li className={shown === undefined ? undefined : 'set'}>
      <div>
        <span>
          {(shown !== undefined || !isIdle) && textIn(shown)}
          {isIdle && ' Without effect while no authorizations are signed.'}
        </span>
        <code className="hint">{name}</code>
      </div>
      {may('manage') && (
        <Action
          label="Edit"
          title={`Edit ${title}`}
          message={about(`The ${title} of`, <RelayerLink id={relayer.id} />, 'is edited.')}
          opened={open}
          lack={lack ?? (isSame ? 'Nothing is changed.' : isEmpty ? 'Enter at least one.' : undefined)}
          effect={`${textIn(said)} This applies to all transactions of ${relayer.id}.`}
          run={(client) => {
            if (value === undefined) throw new FormError(name, expected[unit](symbol))
            return client.relayers.update(relayer.id, body, { revision: opened.revision })
          }}
        >
          {difference}
          {list ? (
            <>
              <Select
                label={named}
                values={[
                  ['no', 'no limit'],
                  ['yes', 'only these'],
                ]}
                value={isLimited ? 'yes' : 'no'}
                onChange={({ target }) => setLimited(target.value === 'yes')}
              />
              {isLimited && <Entries label={mayBeEmpty ? `${label} (empty: none)` : label} {...list} {...field} />}
            </>
          ) : unit === 'yes' ? (
            <Select label={named} none="default" values={['yes', 'no']} {...field} />
          ) : (
            <Field kind={unit === 'number' ? 'whole' : 'amount'} label={named} {...field} />
          )}
        </Action>
      )}
    </li>
  )
}

function shownIn(unit: PolicyForm['unit'], value: unknown): string {
  if (unit === 'yes') return value ? 'yes' : 'no'
  if (unit === 'number') return String(value)
  return exactly(String(value), unit === 'gwei' ? 9 : 18)
}

/** Of a policy that is a list. */
type Item = string | NonNullable<RelayerPolicies['allowed_functions' | 'token_limits']>[number]

/** A line for each item of a list. */
const textOf = (value: unknown): string => (value as Item[]).map(lineOf).join('\n')

function lineOf(item: Item): string {
  if (typeof item === 'string') return item
  if ('asset' in item) {
    const signatures = item.allow_signatures ? ['signatures'] : []
    return [item.asset, item.max_amount_per_transaction ?? '-', item.max_amount_per_day ?? '-', ...signatures].join(' ')
  }
  return [item.address, ...item.selectors].join(' ')
}

/** The service says what is wrong with an item. */
function listIn(name: PolicyName, text: string): unknown[] {
  const rows = linesOf(text).map((line) => line.split(/[\s,]+/))
  if (name === 'allowed_functions') return rows.map(([address = '', ...selectors]) => ({ address, selectors }))
  if (name !== 'token_limits') return rows.flat()
  return rows.map(([asset = '', one = '-', day = '-', signatures]) => ({
    asset,
    ...(one !== '-' && { max_amount_per_transaction: one }),
    ...(day !== '-' && { max_amount_per_day: day }),
    ...(signatures !== undefined && { allow_signatures: signatures === 'signatures' }),
  }))
}

/** What is said of an input that is not valid. The service says what is wrong with a list. */
const expected: Record<PolicyForm['unit'], (symbol: string) => string> = {
  gwei: () => 'Enter an amount in gwei, such as 20.',
  coins: (symbol) => `Enter an amount in ${symbol}, such as 0.05.`,
  number: () => 'Enter a whole number, such as 10.',
  yes: () => 'Enter yes or no.',
  lines: () => '',
}

/** Undefined: the input is not valid. */
function valueIn(unit: PolicyForm['unit'], text: string): string | number | boolean | undefined {
  if (unit === 'yes') return { yes: true, no: false }[text.trim().toLowerCase()]
  if (unit === 'number') return /^\d{1,15}$/.test(text.trim()) ? Number(text) : undefined
  return weiOf(text, unit === 'gwei' ? 9 : 18)
}

type PolicyName = keyof RelayerPolicies & keyof RelayerPoliciesPatch

/** How a policy is shown and entered. `unit`: the unit of an amount in wei. `list`: what each entry of a list has. */
interface PolicyForm {
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
const policyForms: Record<string, Partial<Record<PolicyName, PolicyForm>>> = {
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
        hint: 'Amounts are in base units of the token. An empty amount is no limit.',
        parts: [
          contract('Token'),
          { label: 'Limit per transaction', placeholder: 'base units at once', isAmount: true },
          { label: 'Limit in 24 h', placeholder: 'base units in 24 h', isAmount: true },
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
