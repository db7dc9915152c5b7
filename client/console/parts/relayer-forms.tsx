import { useState } from 'react'
import { useLocation } from 'wouter'
import type { Relayer } from '../../index.ts'
import { useForm } from '../data/form.ts'
import { count } from '../data/format.ts'
import { nodesOf } from '../data/lines.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { NotificationChecks } from './checks.tsx'
import { RelayerLink } from './links.tsx'

const one = '/api/v1/relayers/{relayer_id}'

/** What can be done with a relayer, beside its policies and its funding. */
export function RelayerActions({ its }: { its: Relayer }) {
  const { client, may } = useSession()
  if (!may('manage')) return null
  const { id, paused } = its
  return (
    <div className="buttons">
      <EditRelayer its={its} />
      <Action
        label={paused ? 'Resume' : 'Pause'}
        title={`${paused ? 'Resume' : 'Pause'} relayer ${id}`}
        tone={paused ? 'primary' : undefined}
        effect={
          <p>
            {paused
              ? 'The relayer signs and sends again, and its waiting transactions continue.'
              : 'The relayer signs and sends nothing until it is resumed. Transactions that a node already has may still be mined.'}
          </p>
        }
        told={
          <>
            Relayer <RelayerLink id={id} /> is {paused ? 'resumed' : 'paused'}.
          </>
        }
        run={() => client.patch(one, { path: { relayer_id: id }, body: { paused: !paused } })}
      />
      <Drain id={id} />
      <DeleteRelayer id={id} />
    </div>
  )
}

/** Its own nodes are masked, so they are kept unless others are given. */
function EditRelayer({ its: { id, name, notification_ids = [], custom_rpc_urls } }: { its: Relayer }) {
  const { client } = useSession()
  const { values, bind, reset } = useForm({ name, custom_rpc_urls: '', nodes: '' })
  const [chosen, setChosen] = useState(notification_ids)
  return (
    <Action
      label="Edit"
      title={`Edit relayer ${id}`}
      opened={() => {
        reset()
        setChosen(notification_ids)
      }}
      told={
        <>
          Relayer <RelayerLink id={id} /> is edited.
        </>
      }
      effect={<p>Changes {id}. Its limits are in the tab “Policies”.</p>}
      run={async () => {
        const body = {
          ...{ name: values.name, notification_ids: chosen },
          ...(values.nodes === 'own' && { custom_rpc_urls: nodesOf(values.custom_rpc_urls, 'custom_rpc_urls') }),
          ...(values.nodes === 'network' && { custom_rpc_urls: null }),
        }
        await client.patch(one, { path: { relayer_id: id }, body })
      }}
    >
      <label>
        Name
        <input required {...bind('name')} />
      </label>
      <label>
        Nodes
        <select {...bind('nodes')}>
          <option value="">
            {custom_rpc_urls.length === 0 ? 'those of the network' : `its own (${count(custom_rpc_urls.length)})`}
          </option>
          <option value="own">others of its own</option>
          {custom_rpc_urls.length > 0 && <option value="network">those of the network</option>}
        </select>
      </label>
      {values.nodes === 'own' && (
        <label>
          Node URLs, one per line (after it, its weight from 0 to 100, if not 100)
          <textarea required rows={3} spellCheck={false} {...bind('custom_rpc_urls')} />
        </label>
      )}
      <NotificationChecks chosen={chosen} set={setChosen} />
    </Action>
  )
}

/** Refuses new transactions while the unfinished ones continue, before a relayer is deleted. */
function Drain({ id }: { id: string }) {
  const { client } = useSession()
  return (
    <Action
      label="Drain"
      title={`Drain relayer ${id}`}
      effect={
        <p>
          {id} takes no new transactions; messages are still signed. Its unfinished transactions continue. When they
          have ended, it can be deleted. To end the drain, clear the policy <code>allow_transactions</code>.
        </p>
      }
      run={() => client.post('/api/v1/relayers/{relayer_id}/drain', { path: { relayer_id: id } })}
      told={({ data }) => drainedText(id, data.pending_transactions_count + data.mined_transactions_count)}
    />
  )
}

const drainedText = (id: string, left: number) =>
  left === 0
    ? `${id} is drained: it takes no new transactions. None is unfinished, so it can be deleted.`
    : `${id} is being drained: it takes no new transactions. Unfinished: ${count(left)}.`

function DeleteRelayer({ id }: { id: string }) {
  const { client } = useSession()
  const [, go] = useLocation()
  return (
    <Action
      label="Delete"
      title={`Delete relayer ${id}`}
      tone="danger"
      typed={id}
      told={`Relayer ${id} is deleted. Its signer stays.`}
      effect={
        <p>
          Deletes {id} with its policies and the list of its transactions. It is refused while a transaction is
          unfinished. Its signer and what its address owns stay.
        </p>
      }
      run={async () => {
        await client.delete(one, { path: { relayer_id: id } })
        go('/relayer-list')
      }}
    />
  )
}
