import { Wallet } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { ApiKey, BudgetUsage } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Address } from '../components/address.tsx'
import { useEdited } from '../components/edited.tsx'
import { Entries } from '../components/entries.tsx'
import { EmptyState, Loaded } from '../components/feedback.tsx'
import { Field } from '../components/fields.tsx'
import { Crumbs, Heading, isMissing, Missing } from '../components/page.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Age, Copyable, Figures, Moment, Until } from '../components/values.tsx'
import { linesOf, listOf } from '../data/entries.ts'
import { useForm, weiIn } from '../data/form.ts'
import { amount, count, exactly } from '../data/format.ts'
import { useGet } from '../data/get.ts'
import { paths } from '../data/paths.ts'
import { useCoinSymbol, useCoinSymbols, useFacilitators, useNetworks, useSponsorships } from '../data/resources.ts'
import { TokenAmount, useTokenNetwork } from '../transactions/token-amount.tsx'
import { isOfResource, KeyActions, KeyRelayers } from './api-keys.tsx'

const pollMs = 5_000

/** An API key: its rights, and what its budget has left. */
export function ApiKeyPage({ api_key_id }: { api_key_id: string }) {
  const path = { api_key_id }
  const apiKey = useGet('/api/v1/api-keys/{api_key_id}', { path }, { pollMs })
  const its = apiKey.data
  if (isMissing(apiKey.error)) return <Missing what="API key" to={paths.apiKeys} list="the API keys" />
  return (
    <>
      <Crumbs to={paths.apiKeys} list="API keys">
        {its?.name}
      </Crumbs>
      <div className="bar">
        <Heading name={its?.name ?? 'API key'} />
        {its && <KeyActions apiKey={its} />}
      </div>
      <Loaded query={apiKey} lines={4} as="card">
        {(key) => (
          <>
            <Figures
              of={{
                Scopes: key.scopes.join(', '),
                Relayers: <KeyRelayers apiKey={key} />,
                'Client addresses': key.allowed_cidrs?.join(', ') ?? 'any',
                Expires: key.expires_at === null ? 'never' : <Moment at={key.expires_at} />,
                'Last used': <Age of={key.last_used_at} />,
                'Previous token ends': key.previous_token_expires_at && <Moment at={key.previous_token_expires_at} />,
                'Belongs to': isOfResource(key) && <Owner api_key_id={key.id} />,
                ID: <Copyable value={key.id} whole />,
              }}
            />
            <div className="bar">
              <h2>Budget</h2>
              {!isOfResource(key) && (
                <div className="buttons">
                  <ChangeBudget apiKey={key} />
                  {key.budget && <EndBudget apiKey={key} />}
                </div>
              )}
            </div>
            {key.budget_usage ? <Budget use={key.budget_usage} /> : <NoBudget apiKey={key} />}
          </>
        )}
      </Loaded>
    </>
  )
}

/** The sponsorship or facilitator that a key was made with. */
function Owner({ api_key_id }: { api_key_id: string }) {
  const isIts = (one: { api_key_id: string }) => one.api_key_id === api_key_id
  const sponsorship = useSponsorships().data?.find(isIts)
  const facilitator = useFacilitators().data?.find(isIts)
  if (sponsorship) return <Link to={paths.sponsorships}>sponsorship {sponsorship.id}</Link>
  return facilitator && <Link to={paths.facilitator(facilitator.id)}>facilitator {facilitator.id}</Link>
}

const NoBudget = ({ apiKey }: { apiKey: ApiKey }) => (
  <EmptyState icon={Wallet} title="No budget" create={!isOfResource(apiKey) && budgetTitle(apiKey)}>
    {isOfResource(apiKey)
      ? 'The budget is set where the key belongs.'
      : 'The key moves what the policies of its relayers allow. A budget limits it across all of them.'}
  </EmptyState>
)

/** A limit of a budget. `most`: in one transaction. */
interface Limit {
  asset: string
  per: string
  used: ReactNode
  remaining: ReactNode
  limit: ReactNode
  resets_at: string | null
  most: ReactNode
}

function Budget({ use }: { use: BudgetUsage }) {
  const coin = useCoinSymbol()
  const networks = useNetworks().data ?? []
  const symbols = [...new Set(networks.map(({ name, symbol }) => symbol ?? `coin of ${name}`))]
  const rows = limitsOf(use, coin, symbols.length > 1 ? ` (${symbols.join(' + ')})` : '')
  return (
    <>
      <Table of="limits" rows={rows} columns={columnsOf(rows)} idOf={({ asset }) => asset} />
      {use.assets.length === 0 && <p className="hint">The key moves no coin and no token.</p>}
      {symbols.length > 1 && (
        <p className="hint">
          Coins are the native coins of all networks together: 1 {symbols[0]} counts as much as 1 {symbols[1]}.
        </p>
      )}
      <section aria-labelledby="receivers">
        <h2 id="receivers">Receivers</h2>
        {use.receivers === null ? (
          <p className="hint">Any receiver is allowed.</p>
        ) : (
          <ul className="plain">
            {use.receivers.map((receiver) => (
              <li key={receiver}>
                <Address
                  value={receiver}
                  network={networks.length === 1 ? networks[0]?.name : undefined}
                  what="Receiver"
                  whole
                />
              </li>
            ))}
          </ul>
        )}
      </section>
    </>
  )
}

/** `together`: the coins that count as one. */
function limitsOf({ assets, fees, transactions }: BudgetUsage, coin: string, together: string): Limit[] {
  const coins = (wei: string | null) => (wei === null ? '' : coin === 'coins' ? exactly(wei) : amount(wei, coin))
  const unitsOf = (token: string) => (number: string | null) =>
    number === null ? '' : <TokenAmount token={token} units={number} isBare />
  const numbers = (number: number | null) => count(number ?? 0)
  return [
    ...assets.map(({ asset, max_amount_per_transaction, ...use }) => {
      const show = asset === 'coin' ? coins : unitsOf(asset)
      return {
        ...shown(use, show),
        asset: asset === 'coin' ? `Coins${together}` : asset,
        per: '24 h',
        most: show(max_amount_per_transaction),
      }
    }),
    ...(fees ? [{ ...shown(fees, coins), asset: `Fees${together}`, per: '24 h', most: '' }] : []),
    ...(transactions
      ? [{ ...shown(transactions, numbers), asset: 'Transactions and signatures', per: '1 h', most: '' }]
      : []),
  ]
}

const shown = <Unit,>(
  use: Record<'used' | 'remaining' | 'limit', Unit> & { resets_at: string | null },
  show: (value: Unit) => ReactNode,
) => ({
  used: show(use.used),
  remaining: show(use.remaining),
  limit: show(use.limit),
  resets_at: use.resets_at,
})

/** A column that is empty in all rows is left out. */
const columnsOf = (rows: Limit[]): Column<Limit>[] => [
  {
    name: 'Budget for',
    cell: ({ asset }) => (asset.startsWith('0x') ? <Token address={asset} /> : asset),
  },
  { name: 'Period', cell: ({ per }) => per },
  { name: 'Used', isNumber: true, cell: ({ used }) => used },
  { name: 'Left', isNumber: true, cell: ({ remaining }) => remaining },
  { name: 'Limit', isNumber: true, cell: ({ limit }) => limit },
  ...(rows.some(({ most }) => most !== '')
    ? [{ name: 'Per transaction', isNumber: true, cell: ({ most }: Limit) => most }]
    : []),
  ...(rows.some(({ resets_at }) => resets_at !== null)
    ? [{ name: 'Resets', cell: ({ resets_at }: Limit) => resets_at && <Until at={resets_at} /> }]
    : []),
]

/** The amounts of an unknown token are in its base units, which is said once. */
function Token({ address }: { address: string }) {
  const network = useTokenNetwork(address)
  return (
    <>
      <Address value={address} network={network} what="Token" />
      {network === undefined && <span className="hint"> in base units</span>}
    </>
  )
}

const tokenParts = [
  { label: 'Token', placeholder: '0x…', isAddress: true },
  { label: 'Limit in 24 h', placeholder: 'in 24 h', isAmount: true },
  { label: 'Limit per transaction (optional)', placeholder: 'per transaction', isAmount: true },
]
const receiverParts = [{ label: 'Receiver', placeholder: '0x…', isAddress: true }]
const budgetTitle = ({ budget, name }: ApiKey) => `${budget ? 'Edit' : 'Set'} the budget of ${name}`
const orEmpty = (wei: string | null | undefined) => (wei === null || wei === undefined ? '' : exactly(wei))

function textsOf({ budget }: ApiKey) {
  const coin = budget?.assets.find(({ asset }) => asset === 'coin')
  return {
    max_amount_per_day: orEmpty(coin?.max_amount_per_day),
    max_amount_per_transaction: orEmpty(coin?.max_amount_per_transaction),
    assets: (budget?.assets ?? [])
      .filter(({ asset }) => asset !== 'coin')
      .map(({ asset, max_amount_per_day, max_amount_per_transaction }) =>
        [asset, max_amount_per_day, max_amount_per_transaction ?? ''].join(' ').trim(),
      )
      .join('\n'),
    max_fee_per_day: orEmpty(budget?.max_fee_per_day),
    max_transactions_per_hour: `${budget?.max_transactions_per_hour ?? ''}`,
    receivers: (budget?.receivers ?? []).join('\n'),
  }
}

const budgetOf = (texts: ReturnType<typeof textsOf>, symbol: string) => {
  const orNull = (field: keyof typeof texts) => (texts[field] === '' ? null : weiIn(field, texts[field], symbol))
  const perDay = orNull('max_amount_per_day')
  const tokens = linesOf(texts.assets).map((line) => {
    const [asset = '', maxAmountPerDay = '', maxAmount] = line.split(/\s+/)
    return { asset, max_amount_per_day: maxAmountPerDay, max_amount_per_transaction: maxAmount ?? null }
  })
  return {
    assets: [
      ...(perDay === null
        ? []
        : [
            {
              asset: 'coin',
              max_amount_per_day: perDay,
              max_amount_per_transaction: orNull('max_amount_per_transaction'),
            },
          ]),
      ...tokens,
    ],
    max_fee_per_day: orNull('max_fee_per_day'),
    max_transactions_per_hour: texts.max_transactions_per_hour === '' ? null : Number(texts.max_transactions_per_hour),
    receivers: texts.receivers.trim() === '' ? null : listOf(texts.receivers),
  }
}

function ChangeBudget({ apiKey }: { apiKey: ApiKey }) {
  const symbol = useCoinSymbol()
  const symbols = useCoinSymbols()
  const unit = symbols.length === 0 ? '' : `, in ${symbols.join(' + ')}`
  const { values, bind, reset } = useForm(textsOf(apiKey))
  const { opened, open, lack, difference } = useEdited(apiKey, reset)
  return (
    <Action
      label={apiKey.budget ? 'Edit budget' : 'Set a budget'}
      title={budgetTitle(apiKey)}
      {...(!apiKey.budget && { confirm: 'Set budget' })}
      message={`The budget of ${apiKey.name} is ${apiKey.budget ? 'edited' : 'set'}.`}
      opened={open}
      lack={lack}
      effect="The key moves only what is listed, across all its relayers, and signs no hash that hides what it allows. What is already used counts."
      run={async (client) =>
        client.apiKeys.update(opened.id, { budget: budgetOf(values, symbol) }, { revision: opened.revision })
      }
    >
      {difference}
      {symbols.length > 1 && (
        <p className="hint">
          Coins of all networks count alike: 1 {symbols[0]} as much as 1 {symbols[1]}.
        </p>
      )}
      <Field kind="amount" label={`Coins in 24 h${unit} (empty: moves none)`} {...bind('max_amount_per_day')} />
      <Field
        kind="amount"
        label={`Coins per transaction${unit} (empty: no limit)`}
        {...bind('max_amount_per_transaction')}
      />
      <Entries label="Tokens" one="token" parts={tokenParts} {...bind('assets')} />
      <Field kind="amount" label={`Fees in 24 h${unit} (empty: no limit)`} {...bind('max_fee_per_day')} />
      <Field
        kind="whole"
        label="Transactions and signatures in 1 h (empty: no limit)"
        {...bind('max_transactions_per_hour')}
      />
      <Entries label="Receivers (empty: any)" one="receiver" parts={receiverParts} {...bind('receivers')} />
    </Action>
  )
}

const EndBudget = ({ apiKey: { id, name, revision } }: { apiKey: ApiKey }) => (
  <Action
    label="Remove budget"
    title={`Remove the budget of ${name}`}
    confirm="Remove budget"
    tone="danger"
    message={`The budget of ${name} is removed.`}
    effect="From the next request on, the key moves whatever the policies of its relayers allow."
    run={(client) => client.apiKeys.update(id, { budget: null }, { revision })}
  />
)
