import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiKey, Scope } from '../../index.ts'
import { time } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { Action } from '../parts/action.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { Copyable } from '../parts/links.tsx'

const scopes: Scope[] = ['read', 'sign', 'send', 'notifications', 'manage']
const one = '/api/v1/api-keys/{api_key_id}'

export function ApiKeys() {
  const { client } = useSession()
  const keys = useQuery({
    queryKey: ['keys'],
    queryFn: async ({ signal }) => (await client.get('/api/v1/api-keys', { query: { per_page: 1_000 }, signal })).data,
  })
  return (
    <>
      <div className="bar">
        <Heading name="API keys" />
        <CreateKey />
      </div>
      <Loaded query={keys}>
        {(all) =>
          all.length === 0 ? (
            <p>No API keys yet. The key in the setting API_KEY is not listed.</p>
          ) : (
            <div className="scroll">
              <table>
                <thead>
                  <tr>
                    <th>Name</th>
                    <th>Scopes</th>
                    <th>Relayers</th>
                    <th>Expires</th>
                    <th>Last used</th>
                    <th>
                      <span className="hidden">Actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {all.map((key) => (
                    <KeyRow key={key.id} its={key} />
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </>
  )
}

function KeyRow({ its: { id, name, scopes: allowed, relayer_ids, expires_at, last_used_at } }: { its: ApiKey }) {
  const { client } = useSession()
  const [token, setToken] = useState('')
  const path = { api_key_id: id }
  return (
    <tr>
      <td title={id}>{name}</td>
      <td>{allowed.join(', ')}</td>
      <td>{relayer_ids === null ? 'all' : relayer_ids.join(', ')}</td>
      <td>{expires_at === null ? 'never' : time(expires_at)}</td>
      <td>{last_used_at === null ? 'never' : time(last_used_at)}</td>
      <td className="buttons">
        <Action
          label="Rotate"
          effect={<p>Issues a new token for “{name}”. The current token stays valid for a grace period.</p>}
          run={async () => setToken((await client.post(`${one}/rotate`, { path, body: {} })).data.token)}
          done={<NewToken token={token} />}
        />
        <Action
          label="Revoke"
          tone="danger"
          effect={<p>Requests with “{name}” are refused at once. A revoked key cannot be restored.</p>}
          run={() => client.delete(one, { path })}
        />
      </td>
    </tr>
  )
}

function CreateKey() {
  const { client } = useSession()
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<Scope[]>(['read'])
  const [relayers, setRelayers] = useState('')
  const [expires, setExpires] = useState('')
  const [token, setToken] = useState('')
  const relayer_ids = relayers.split(/[\s,]+/).filter((id) => id !== '')
  const toggle = (scope: Scope) =>
    setChosen(chosen.includes(scope) ? chosen.filter((other) => other !== scope) : [...chosen, scope])
  return (
    <Action
      label="Create a key"
      tone="primary"
      effect={<p>Creates an API key with these permissions. Its token is shown once.</p>}
      run={async () => {
        const body = {
          name,
          scopes: chosen,
          ...(relayer_ids.length > 0 && { relayer_ids }),
          ...(expires !== '' && { expires_at: new Date(`${expires}Z`).toISOString() }),
        }
        setToken((await client.post('/api/v1/api-keys', { body })).data.token)
      }}
      done={<NewToken token={token} />}
    >
      <label>
        Name
        <input required maxLength={128} value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <fieldset>
        <legend>Scopes</legend>
        {scopes.map((scope) => (
          <label key={scope} className="inline">
            <input type="checkbox" checked={chosen.includes(scope)} onChange={() => toggle(scope)} /> {scope}
          </label>
        ))}
      </fieldset>
      <label>
        Relayer IDs (empty: all relayers)
        <input value={relayers} onChange={(event) => setRelayers(event.target.value)} />
      </label>
      <label>
        Expires at (UTC; empty: never)
        <input type="datetime-local" value={expires} onChange={(event) => setExpires(event.target.value)} />
      </label>
    </Action>
  )
}

const NewToken = ({ token }: { token: string }) => (
  <>
    <p>Copy the token now. It is not shown again:</p>
    <Copyable value={token} whole />
  </>
)
