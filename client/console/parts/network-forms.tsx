import { useState } from 'react'
import type { Network } from '../../index.ts'
import { given, listOf, useForm } from '../data/form.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'

/** The API masks the URLs, so they have to be entered again. */
export function EditNodes({ network }: { network: Network }) {
  const { client, mayManageAll } = useSession()
  const [urls, setUrls] = useState('')
  if (!mayManageAll) return null
  const rpc_urls = urls.split(/\s+/).filter((url) => url !== '')
  return (
    <Action
      label="Change nodes"
      effect={
        <p>
          Replaces all nodes of {network.name} with these, one URL per line. Paths and keys of the current URLs are
          hidden, so enter the complete URL of each node that you keep. Transactions continue at once.
        </p>
      }
      run={() =>
        client.patch('/api/v1/networks/{network_id}', { path: { network_id: network.id }, body: { rpc_urls } })
      }
    >
      <label>
        Node URLs
        <textarea rows={4} spellCheck={false} value={urls} onChange={(event) => setUrls(event.target.value)} />
      </label>
    </Action>
  )
}

export function CreateNetwork() {
  const { client, mayManageAll } = useSession()
  const start = { name: '', chain_id: '', urls: '', symbol: '', confirmations: '', explorer: '' }
  const { values, bind, reset } = useForm(start)
  const [warnings, setWarnings] = useState<string[]>([])
  if (!mayManageAll) return null
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
            rpc_urls: listOf(values.urls),
            ...given({ symbol: values.symbol }),
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
        Node URLs, one per line
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
    </Action>
  )
}

export function EditNetwork({ network }: { network: Network }) {
  const { client, mayManageAll } = useSession()
  const { values, bind, reset } = useForm({
    symbol: network.symbol ?? '',
    confirmations: `${network.required_confirmations}`,
    explorer: network.explorer_urls[0] ?? '',
  })
  if (!mayManageAll) return null
  const path = { network_id: network.id }
  return (
    <>
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
      </Action>
      <Action
        label="Delete"
        tone="danger"
        effect={<p>Deletes {network.name} and the ABIs of its contracts. It is refused while a relayer uses it.</p>}
        run={() => client.delete('/api/v1/networks/{network_id}', { path })}
      />
    </>
  )
}
