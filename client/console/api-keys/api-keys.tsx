import { Key } from 'lucide-react'
import { Link } from 'wouter'
import type { ApiKey, ScopeInput } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { changedIn, useEdited } from '../components/edited.tsx'
import { Entries } from '../components/entries.tsx'
import { Checks, Field, Picks } from '../components/fields.tsx'
import { Menu } from '../components/menu.tsx'
import { NewToken } from '../components/new-token.tsx'
import { TablePage } from '../components/page.tsx'
import { ageColumn, type Column, column } from '../components/table.tsx'
import { RelayerLink, RowTime } from '../components/values.tsx'
import { listOf } from '../data/entries.ts'
import { FormError, useForm } from '../data/form.ts'
import { counted } from '../data/format.ts'
import { paths } from '../data/paths.ts'
import { useApiKeys, usePools, useRelayers } from '../data/resources.ts'
import { momentOf, typedOf, zoneShortly } from '../data/times.ts'

const scopes: ScopeInput[] = ['read', 'sign', 'send', 'notifications', 'manage']

export const ApiKeys = () => (
  <TablePage
    name="API keys"
    of="API keys"
    icon={Key}
    create="Create an API key"
    button={<CreateKey />}
    about="Give each application a key of its own, with no more rights than it needs. The environment key (the setting API_KEY) is not listed."
    query={useApiKeys()}
    columns={columns}
  />
)

/** Its rights do not change, and it ends with its sponsorship or facilitator. */
export const isOfResource = (key: Pick<ApiKey, 'scopes'>) =>
  key.scopes.some((scope) => scope === 'relay' || scope === 'settle')

function budgetText({ budget, ...key }: ApiKey): string {
  if (isOfResource(key)) return key.scopes.includes('settle') ? 'set by its facilitator' : 'set by its sponsorship'
  if (!budget) return 'no limits'
  const others = [budget.max_fee_per_day, budget.max_transactions_per_hour, budget.receivers]
  return counted(budget.assets.length + others.filter((one) => one !== null).length, 'limit')
}

const columns: Column<ApiKey>[] = [
  { name: 'API key', by: ({ name }) => name, cell: ({ id, name }) => <Link to={paths.apiKey(id)}>{name}</Link> },
  { name: 'Scopes', by: (key) => key.scopes.length, cell: (key) => key.scopes.join(', ') },
  { name: 'Relayers', cell: (key) => <KeyRelayers apiKey={key} /> },
  column('Budget', budgetText),
  {
    name: 'Expires',
    isTime: true,
    by: ({ expires_at }) => expires_at ?? '~',
    cell: ({ expires_at }) => (expires_at === null ? 'never' : <RowTime at={expires_at} />),
  },
  ageColumn('Last used', ({ last_used_at }) => last_used_at),
]

export function KeyActions({ apiKey }: { apiKey: ApiKey }) {
  const { id, name } = apiKey
  const mayChange = !isOfResource(apiKey)
  return (
    <div className="buttons">
      {mayChange && <EditKey apiKey={apiKey} />}
      <Menu of={name}>
        <Action
          label="Rotate"
          thing={`API key ${name}`}
          command={`rotate ${id}`}
          effect={`Issues a new token for “${name}”. The current token stays valid for a grace period.`}
          run={(client) => client.apiKeys.rotate(id, {})}
          isOnce
          done={({ token }) => (
            <NewToken token={token}>
              API key “{name}” has a new token. The previous one stays valid for a grace period.
            </NewToken>
          )}
        />
        {mayChange && (
          <Action
            label="Revoke"
            thing={`API key ${name}`}
            command={`revoke ${id}`}
            tone="danger"
            effect={`Requests with “${name}” are refused at once. A revoked key cannot be restored.`}
            run={(client) => client.apiKeys.delete(id)}
            to={paths.apiKeys}
          />
        )}
      </Menu>
    </div>
  )
}

/** The relayers and pools that a key may use. */
export function KeyRelayers({ apiKey }: { apiKey: ApiKey }) {
  const { relayer_ids, pool_ids, scopes: granted } = apiKey
  if (isOfResource(apiKey)) return granted.includes('settle') ? 'set by its facilitator' : 'set by its sponsorship'
  if (pool_ids.length === 0 && (relayer_ids === null || relayer_ids.length === 0)) return relayer_ids ? 'none' : 'all'
  return (
    <span className="named">
      {relayer_ids === null && 'all'}
      {relayer_ids?.map((id) => (
        <RelayerLink key={id} id={id} />
      ))}
      {pool_ids.map((id) => (
        <Link key={id} to={paths.pool(id)}>
          pool {id}
        </Link>
      ))}
    </span>
  )
}

const lines = (list?: string[] | null) => (list ?? []).join('\n')

const everyRelayer = 'every relayer, including later ones'

const rightsOf = (key?: ApiKey) => ({
  name: key?.name ?? '',
  scopes: key ? scopes.filter((scope) => key.scopes.includes(scope)) : ['read' as ScopeInput],
  every_relayer: key?.relayer_ids === null ? [everyRelayer] : [],
  relayer_ids: key?.relayer_ids ?? [],
  pool_ids: key?.pool_ids ?? [],
  allowed_cidrs: lines(key?.allowed_cidrs),
  expires_at: typedOf(key?.expires_at ?? ''),
})

const bodyOf = ({ every_relayer, relayer_ids, allowed_cidrs, expires_at, ...rest }: ReturnType<typeof rightsOf>) => ({
  ...rest,
  relayer_ids: every_relayer.length > 0 ? null : relayer_ids,
  allowed_cidrs: listOrNull(allowed_cidrs),
  expires_at: momentOf(expires_at) ?? null,
})

const cidr = [{ label: 'Range', placeholder: '10.0.0.0/8' }]

/** The rights of a key as a form. */
function useRights(key?: ApiKey) {
  const { values, bind, pick, reset } = useForm(rightsOf(key))
  const relayers = useRelayers().data?.map(({ id }) => id) ?? []
  const pools = usePools().data?.map(({ id }) => id) ?? []
  return {
    reset,
    body() {
      if (values.scopes.length === 0) throw new FormError('scopes', 'Choose at least one scope.')
      return bodyOf(values)
    },
    fields: (
      <>
        <Field label="Name" required maxLength={128} {...bind('name')} />
        <Checks legend="Scopes" values={scopes} {...pick('scopes')} />
        <Checks legend="Relayers" values={[everyRelayer]} text={(value) => value} {...pick('every_relayer')} />
        {values.every_relayer.length === 0 && (
          <Picks legend="Only these relayers" values={relayers} {...pick('relayer_ids')} />
        )}
        {pools.length > 0 && <Picks legend="Pools" values={pools} {...pick('pool_ids')} />}
        <Entries label="Client addresses (empty: any)" one="range" parts={cidr} {...bind('allowed_cidrs')} />
        <Field
          label={`Expires at (${zoneShortly(momentOf(values.expires_at))}; empty: never)`}
          type="datetime-local"
          {...bind('expires_at')}
        />
      </>
    ),
  }
}

/** Null: no limit. */
const listOrNull = (text: string): string[] | null => (listOf(text).length > 0 ? listOf(text) : null)

function CreateKey() {
  const rights = useRights()
  return (
    <Action
      label="Create an API key"
      tone="primary"
      opened={rights.reset}
      effect="Creates an API key with these permissions. Its token is shown once."
      run={async (client) => {
        const body = rights.body()
        if (body.relayer_ids?.length === 0 && body.pool_ids.length === 0)
          throw new FormError('every_relayer', 'Choose every relayer, some relayers or a pool.')
        return client.apiKeys.create(body)
      }}
      isOnce
      done={({ api_key, token }) => <NewToken token={token}>API key “{api_key.name}” is created.</NewToken>}
    >
      {rights.fields}
    </Action>
  )
}

function EditKey({ apiKey }: { apiKey: ApiKey }) {
  const rights = useRights(apiKey)
  const { opened, open, lack, difference } = useEdited(apiKey, rights.reset)
  return (
    <Action
      label="Edit"
      thing={`API key ${apiKey.name}`}
      opened={open}
      lack={lack}
      effect="The token stays the same. A right that you remove ends at once, also for requests in progress."
      run={async (client) => {
        const body = changedIn(bodyOf(rightsOf(opened)), rights.body())
        return client.apiKeys.update(opened.id, body, { revision: opened.revision })
      }}
    >
      {difference}
      {rights.fields}
    </Action>
  )
}
