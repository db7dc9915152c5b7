import { useState } from 'react'
import type { Network, UpdateNetworkRequest } from '../../index.ts'
import { useForm } from '../data/form.ts'
import { nodesOf, relaysOf } from '../data/lines.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { More } from './more.tsx'
import { SubmissionFields, submissionOf, submissionValues } from './submission.tsx'

/** What can be done with a network: most of it from a menu. */
export function NetworkActions({ network }: { network: Network }) {
  const { mayManageAll } = useSession()
  if (!mayManageAll) return null
  const { name } = network
  return (
    <div className="buttons">
      <EditNetwork network={network} />
      <EditNodes network={network} />
      <EditRelays network={network} />
      <DeleteNetwork network={network} />
      <More
        of={name}
        choices={[
          { text: 'Change nodes', opens: `Change nodes of ${name}` },
          { text: 'Change private relays', opens: `Change private relays of ${name}` },
          { text: 'Delete', opens: `Delete network ${name}`, tone: 'danger' },
        ]}
      />
    </div>
  )
}

/** The API masks the URLs, so they have to be entered again. */
const EditNodes = ({ network }: { network: Network }) => (
  <EditUrls
    label="Change nodes"
    network={network}
    name="rpc_urls"
    effect={`Replaces all nodes of ${network.name} with these. ${masked} Transactions continue at once.`}
    field={node_lines}
    bodyOf={(text) => ({ rpc_urls: nodesOf(text) })}
  />
)

const EditRelays = ({ network }: { network: Network }) => (
  <EditUrls
    label="Change private relays"
    network={network}
    name="private_rpc_urls"
    effect={`Replaces all private relays of ${network.name} with these; none: it has no more. ${masked}`}
    field={relay_lines}
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
  name,
  network,
  bodyOf,
}: {
  label: string
  effect: string
  field: string
  name: string
  network: Network
  bodyOf(text: string): UpdateNetworkRequest
}) {
  const { client } = useSession()
  const [text, setText] = useState('')
  return (
    <Action
      isInMenu
      label={label}
      title={`${label} of ${network.name}`}
      told={`${label.replace('Change', 'The')} of ${network.name} are changed.`}
      effect={<p>{effect}</p>}
      run={async () =>
        client.patch('/api/v1/networks/{network_id}', { path: { network_id: network.id }, body: bodyOf(text) })
      }
    >
      <label>
        {field}
        <textarea
          name={name}
          rows={4}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
    </Action>
  )
}

function EditNetwork({ network }: { network: Network }) {
  const { client } = useSession()
  const { values, bind, reset } = useForm({
    symbol: network.symbol ?? '',
    required_confirmations: `${network.required_confirmations}`,
    explorer_urls: network.explorer_urls[0] ?? '',
    ...submissionValues(network.submission),
  })
  const path = { network_id: network.id }
  return (
    <Action
      label="Edit"
      title={`Edit network ${network.name}`}
      told={`Network ${network.name} is edited.`}
      opened={reset}
      effect={<p>Changes {network.name}. More confirmations make new transactions final later.</p>}
      run={() =>
        client.patch('/api/v1/networks/{network_id}', {
          path,
          body: {
            symbol: values.symbol || null,
            required_confirmations: Number(values.required_confirmations),
            submission: submissionOf(values) ?? null,
            explorer_urls: values.explorer_urls === '' ? [] : [values.explorer_urls, ...network.explorer_urls.slice(1)],
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
        <input required inputMode="numeric" pattern="[0-9]+" {...bind('required_confirmations')} />
      </label>
      <label>
        URL of an explorer
        <input type="url" {...bind('explorer_urls')} />
      </label>
      <SubmissionFields bind={bind} />
    </Action>
  )
}

function DeleteNetwork({ network }: { network: Network }) {
  const { client } = useSession()
  return (
    <Action
      isInMenu
      label="Delete"
      title={`Delete network ${network.name}`}
      told={`Network ${network.name} is deleted.`}
      tone="danger"
      effect={<p>Deletes {network.name} and the ABIs of its contracts. It is refused while a relayer uses it.</p>}
      run={() => client.delete('/api/v1/networks/{network_id}', { path: { network_id: network.id } })}
    />
  )
}
