import { Key } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { ApiKey, Scope } from '../../index.ts'
import { FormError, listOf } from '../data/form.ts'
import { useApiKeys } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { momentOf, typedOf, zoneShortly } from '../data/times.ts'
import { Action } from '../parts/action.tsx'
import { Checks } from '../parts/checks.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { Copyable } from '../parts/links.tsx'
import { Age, byAge, RowTime } from '../parts/moment.tsx'
import { More } from '../parts/more.tsx'
import { Nothing } from '../parts/nothing.tsx'
import { type Column, Table } from '../parts/table.tsx'

const scopes: Scope[] = ['read', 'sign', 'send', 'notifications', 'manage']
const one = '/api/v1/api-keys/{api_key_id}'

export function ApiKeys() {
  const keys = useApiKeys()
  return (
    <>
      <div className="bar">
        <Heading name="API keys" />
        <CreateKey />
      </div>
      <Loaded query={keys} as="rows">
        {(all) =>
          all.length === 0 ? (
            <Nothing icon={Key} title="No API keys yet" create="Create an API key">
              Give each application a key of its own, with no more rights than it needs. The key in the setting API_KEY
              is not listed.
            </Nothing>
          ) : (
            <Table of="API keys" rows={all} columns={columns} idOf={({ id }) => id} />
          )
        }
      </Loaded>
    </>
  )
}

/** Its rights do not change, and it ends with its sponsorship. */
const isSponsorships = ({ scopes: allowed }: ApiKey) => allowed.includes('relay')

const columns: Column<ApiKey>[] = [
  { name: 'Name', by: ({ name }) => name, cell: ({ id, name }) => <span title={id}>{name}</span> },
  { name: 'Scopes', by: ({ scopes: allowed }) => allowed.length, cell: ({ scopes: allowed }) => allowed.join(', ') },
  {
    name: 'Relayers',
    cell: (its) => (isSponsorships(its) ? 'its sponsorship' : whatOf(its.relayer_ids, its.pool_ids)),
  },
  {
    name: 'Expires',
    isTime: true,
    by: ({ expires_at }) => expires_at ?? '~',
    cell: ({ expires_at }) => (expires_at === null ? 'never' : <RowTime at={expires_at} />),
  },
  {
    name: 'Last used',
    by: ({ last_used_at }) => byAge(last_used_at),
    cell: ({ last_used_at }) => <Age of={last_used_at} />,
  },
  { name: '', cell: (its) => <KeyActions its={its} /> },
]

function KeyActions({ its }: { its: ApiKey }) {
  const { id, name } = its
  const { client } = useSession()
  const path = { api_key_id: id }
  const rotate = { text: 'Rotate', opens: `rotate ${id}` }
  const revoke = { text: 'Revoke', opens: `revoke ${id}`, tone: 'danger' as const }
  return (
    <div className="buttons">
      {!isSponsorships(its) && <EditKey its={its} />}
      <More of={name} choices={[rotate, ...(isSponsorships(its) ? [] : [revoke])]} />
      <Action
        isInMenu
        label="Rotate"
        title={`Rotate API key ${name}`}
        command={rotate.opens}
        effect={<p>Issues a new token for “{name}”. The current token stays valid for a grace period.</p>}
        run={() => client.post(`${one}/rotate`, { path, body: {} })}
        done={({ data: { token } }) => (
          <NewToken token={token}>
            API key “{name}” has a new token, and the previous one stays valid for a while.
          </NewToken>
        )}
      />
      {!isSponsorships(its) && (
        <Action
          isInMenu
          label="Revoke"
          title={`Revoke API key ${name}`}
          command={revoke.opens}
          tone="danger"
          effect={<p>Requests with “{name}” are refused at once. A revoked key cannot be restored.</p>}
          run={() => client.delete(one, { path })}
          told={`API key ${name} is revoked.`}
        />
      )}
    </div>
  )
}

function whatOf(relayer_ids: string[] | null, pool_ids: string[] | null): string {
  const its = [...(relayer_ids ?? []), ...(pool_ids ?? []).map((id) => `pool ${id}`)]
  return its.length === 0 ? 'all' : its.join(', ')
}

interface Rights {
  name: string
  scopes: Scope[]
  relayer_ids: string
  pool_ids: string
  allowed_cidrs: string
  expires_at: string
}

const none: Rights = { name: '', scopes: ['read'], relayer_ids: '', pool_ids: '', allowed_cidrs: '', expires_at: '' }

const rightsOf = ({ name, scopes: allowed, relayer_ids, pool_ids, allowed_cidrs, expires_at }: ApiKey): Rights => ({
  name,
  scopes: scopes.filter((scope) => allowed.includes(scope)),
  relayer_ids: (relayer_ids ?? []).join('\n'),
  pool_ids: (pool_ids ?? []).join('\n'),
  allowed_cidrs: (allowed_cidrs ?? []).join('\n'),
  expires_at: typedOf(expires_at ?? ''),
})

/** Null: no limit. */
const orNull = (text: string): string[] | null => (listOf(text).length > 0 ? listOf(text) : null)

function bodyOf({ name, scopes: allowed, relayer_ids, pool_ids, allowed_cidrs, expires_at }: Rights) {
  if (allowed.length === 0) throw new FormError('scopes', 'Choose at least one scope.')
  return {
    name,
    scopes: allowed,
    relayer_ids: orNull(relayer_ids),
    pool_ids: orNull(pool_ids),
    allowed_cidrs: orNull(allowed_cidrs),
    expires_at: momentOf(expires_at) ?? null,
  }
}

function CreateKey() {
  const { client } = useSession()
  const [rights, setRights] = useState(none)
  return (
    <Action
      label="Create an API key"
      tone="primary"
      opened={() => setRights(none)}
      effect={<p>Creates an API key with these permissions. Its token is shown once.</p>}
      run={async () => (await client.post('/api/v1/api-keys', { body: bodyOf(rights) })).data}
      done={({ api_key, token }) => <NewToken token={token}>API key “{api_key.name}” is created.</NewToken>}
    >
      <RightsForm rights={rights} set={setRights} />
    </Action>
  )
}

function EditKey({ its }: { its: ApiKey }) {
  const { client } = useSession()
  const [rights, setRights] = useState(none)
  return (
    <Action
      label="Edit"
      title={`Edit API key ${its.name}`}
      told={`API key ${its.name} is edited.`}
      opened={() => setRights(rightsOf(its))}
      effect={<p>The token stays the same. A right that is taken away ends at once, also for requests under way.</p>}
      run={async () => client.patch(one, { path: { api_key_id: its.id }, body: bodyOf(rights) })}
    >
      <RightsForm rights={rights} set={setRights} />
    </Action>
  )
}

function RightsForm({ rights, set }: { rights: Rights; set(rights: Rights): void }) {
  const bind = (name: Exclude<keyof Rights, 'scopes'>) => ({
    name,
    value: rights[name],
    onChange: ({ target: { value } }: { target: { value: string } }) => set({ ...rights, [name]: value }),
  })
  return (
    <>
      <label>
        Name
        <input required maxLength={128} {...bind('name')} />
      </label>
      <Checks
        legend="Scopes"
        name="scopes"
        values={scopes}
        chosen={rights.scopes}
        set={(chosen) => set({ ...rights, scopes: chosen })}
      />
      <label>
        Relayer IDs, one per line (empty: all, or none with pools)
        <textarea rows={2} spellCheck={false} {...bind('relayer_ids')} />
      </label>
      <label>
        Pool IDs, one per line (optional)
        <textarea rows={2} spellCheck={false} {...bind('pool_ids')} />
      </label>
      <label>
        Client addresses, as CIDR, one per line (empty: any)
        <textarea rows={2} spellCheck={false} {...bind('allowed_cidrs')} />
      </label>
      <label>
        Expires at ({zoneShortly(momentOf(rights.expires_at))}; empty: never)
        <input type="datetime-local" {...bind('expires_at')} />
      </label>
    </>
  )
}

const NewToken = ({ token, children }: { token: string; children: ReactNode }) => (
  <>
    <p>{children} Copy the token now. It is not shown again:</p>
    <Copyable value={token} whole />
  </>
)
