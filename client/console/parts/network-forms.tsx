import { useState } from 'react'
import type { Network, UpdateNetworkRequest } from '../../index.ts'
import { given, useForm } from '../data/form.ts'
import { nodesOf, relaysOf } from '../data/lines.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { SubmissionFields, submission_start, submissionOf, submissionValues } from './submission.tsx'

/** The API masks the URLs, so they have to be entered again. */
export const EditNodes = ({ network }: { network: Network }) => (
  <EditUrls
    label="Change nodes"
    effect={`Replaces all nodes of ${network.name} with these. ${masked} Transactions continue at once.`}
    field={node_lines}
    network_id={network.id}
    bodyOf={(text) => ({ rpc_urls: nodesOf(text) })}
  />
)

export const EditRelays = ({ network }: { network: Network }) => (
  <EditUrls
    label="Change private relays"
    effect={`Replaces all private relays of ${network.name} with these; none: it has no more. ${masked}`}
    field={relay_lines}
    network_id={network.id}
    bodyOf={(text) => ({ private_rpc_urls: relaysOf(text) })}
  />
)

const masked = 'Paths and keys of the current URLs are hidden, so enter the complete URL of each one that you keep.'
const node_lines = 'Node URLs, one per line (after it, its weight from 0 to 100, if not 100)'
const relay_lines =
  'Private relays, one URL per line (after it, eth_sendPrivateTransaction and its blocks, if it needs them)'

function EditUrls({
  label,
  effect,
  field,
  network_id,
  bodyOf,
}: {
  label: string
  effect: string
  field: string
  network_id: string
  bodyOf(text: string): UpdateNetworkRequest
}) {
  const { client, mayManageAll } = useSession()
  const [text, setText] = useState('')
  if (!mayManageAll) return null
  return (
    <Action
      label={label}
      effect={<p>{effect}</p>}
      run={async () => client.patch('/api/v1/networks/{network_id}', { path: { network_id }, body: bodyOf(text) })}
    >
      <label>
        {field}
        <textarea rows={4} spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} />
      </label>
    </Action>
  )
}

export function CreateNetwork() {
  const { client, mayManageAll } = useSession()
  const start = {
    ...{ name: '', chain_id: '', urls: '', symbol: '', confirmations: '', explorer: '', relays: '' },
    ...submission_start,
  }
  const { values, bind, reset } = useForm(start)
  const [warnings, setWarnings] = useState<string[]>([])
  if (!mayManageAll) return null
  const submission = submissionOf(values)
  return (
    <Action
      label="Create a network"
      tone="primary"
      opened={reset}
      effect={<p>A network is an EVM chain and the URLs of its nodes.</p>}
      run={async () => {
        const { data } = await client.post('/api/v1/networks', {
          body: {
            name: values.name,
            network_type: 'evm',
            chain_id: Number(values.chain_id),
            rpc_urls: nodesOf(values.urls),
            private_rpc_urls: relaysOf(values.relays),
            ...given({ symbol: values.symbol }),
            ...(submission && { submission }),
            ...(values.confirmations !== '' && { required_confirmations: Number(values.confirmations) }),
            ...(values.explorer !== '' && { explorer_urls: [values.explorer] }),
          },
        })
        setWarnings(data.warnings ?? [])
      }}
      done={
        warnings.length === 0
          ? 'Created: its nodes answer.'
          : `Created, but its nodes do not work: ${warnings.join('; ')}`
      }
    >
      <label>
        Name
        <input required {...bind('name')} />
      </label>
      <label>
        Chain ID
        <input required inputMode="numeric" pattern="[0-9]+" {...bind('chain_id')} />
      </label>
      <label>
        {node_lines}
        <textarea required rows={3} spellCheck={false} {...bind('urls')} />
      </label>
      <label>
        Symbol of its currency (optional)
        <input {...bind('symbol')} />
      </label>
      <label>
        Required confirmations (empty: the default of the chain)
        <input inputMode="numeric" pattern="[0-9]*" {...bind('confirmations')} />
      </label>
      <label>
        URL of an explorer (optional)
        <input type="url" {...bind('explorer')} />
      </label>
      <label>
        {relay_lines}
        <textarea rows={2} spellCheck={false} {...bind('relays')} />
      </label>
      <SubmissionFields
        bind={bind}
        none="public, unless a request says otherwise"
        only={['private', 'private_then_public']}
      />
    </Action>
  )
}

export function EditNetwork({ network }: { network: Network }) {
  const { client, mayManageAll } = useSession()
  const { values, bind, reset } = useForm({
    symbol: network.symbol ?? '',
    confirmations: `${network.required_confirmations}`,
    explorer: network.explorer_urls[0] ?? '',
    ...submissionValues(network.submission),
  })
  if (!mayManageAll) return null
  const path = { network_id: network.id }
  return (
    <Action
      label="Edit"
      opened={reset}
      effect={<p>Changes {network.name}. More confirmations make new transactions final later.</p>}
      run={() =>
        client.patch('/api/v1/networks/{network_id}', {
          path,
          body: {
            symbol: values.symbol || null,
            required_confirmations: Number(values.confirmations),
            submission: submissionOf(values) ?? null,
            explorer_urls: values.explorer === '' ? [] : [values.explorer, ...network.explorer_urls.slice(1)],
          },
        })
      }
    >
      <label>
        Symbol of its currency
        <input {...bind('symbol')} />
      </label>
      <label>
        Required confirmations
        <input required inputMode="numeric" pattern="[0-9]+" {...bind('confirmations')} />
      </label>
      <label>
        URL of an explorer
        <input type="url" {...bind('explorer')} />
      </label>
      <SubmissionFields bind={bind} />
    </Action>
  )
}

export function DeleteNetwork({ network }: { network: Network }) {
  const { client, mayManageAll } = useSession()
  if (!mayManageAll) return null
  return (
    <Action
      label="Delete"
      tone="danger"
      effect={<p>Deletes {network.name} and the ABIs of its contracts. It is refused while a relayer uses it.</p>}
      run={() => client.delete('/api/v1/networks/{network_id}', { path: { network_id: network.id } })}
    />
  )
}
