import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Network, NetworkNode } from '../../index.ts'
import { given, listOf, useForm } from '../data/form.ts'
import { useNetworks, useNodes } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from '../parts/action.tsx'
import { Badge } from '../parts/badge.tsx'
import { Loaded, Skeleton } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { Copyable } from '../parts/links.tsx'

/** The networks, with the health of each node. */
export function Networks() {
  const networks = useNetworks()
  return (
    <>
      <div className="bar">
        <Heading name="Networks" />
        <CreateNetwork />
      </div>
      <Loaded query={networks}>
        {(all) => (all.length === 0 ? <p>No networks yet.</p> : <List networks={all} />)}
      </Loaded>
      <Abis />
    </>
  )
}

function List({ networks }: { networks: Network[] }) {
  const nodes = useNodes(networks.map(({ id }) => id))
  return networks.map((network, index) => (
    <section key={network.id} className="card" aria-label={network.name}>
      <div className="bar">
        <h2>{network.name}</h2>
        <div className="buttons">
          <EditNetwork network={network} />
          <EditNodes network={network} />
        </div>
      </div>
      <dl className="figures">
        <div>
          <dt>Chain ID</dt>
          <dd>{network.chain_id}</dd>
        </div>
        <div>
          <dt>Confirmations</dt>
          <dd>{network.required_confirmations}</dd>
        </div>
        <div>
          <dt>Currency</dt>
          <dd>{network.symbol ?? 'ETH'}</dd>
        </div>
      </dl>
      {nodes[index] ? (
        <Loaded query={nodes[index]} lines={1}>
          {(its) => <Nodes nodes={its} />}
        </Loaded>
      ) : (
        <Skeleton lines={1} />
      )}
    </section>
  ))
}

function Nodes({ nodes }: { nodes: NetworkNode[] }) {
  const head = Math.max(...nodes.map(({ block_number }) => block_number ?? 0))
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th>Node</th>
            <th>Health</th>
            <th className="number">Weight</th>
            <th className="number">Latest block</th>
            <th className="number">Response time</th>
            <th>Error</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map(({ url, status, weight, block_number, response_ms, error }) => (
            <tr key={url}>
              <td>
                <Copyable value={url} whole />
              </td>
              <td>
                <Badge state={status} />
              </td>
              <td className="number">{weight}</td>
              <td className="number">
                {block_number ?? '–'}
                {block_number !== null && block_number < head && ` (${head - block_number} behind)`}
              </td>
              <td className="number">{response_ms === null ? '–' : `${response_ms} ms`}</td>
              <td>{error ?? ''}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** The API masks the URLs, so they have to be entered again. */
function EditNodes({ network }: { network: Network }) {
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

function CreateNetwork() {
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

function EditNetwork({ network }: { network: Network }) {
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

/** The ABIs of contracts, which decode calls and errors. */
function Abis() {
  const { client, mayManageAll } = useSession()
  const abis = useQuery({
    queryKey: ['abis'],
    queryFn: async ({ signal }) => (await client.get('/api/v1/abis', { query: { per_page: 1_000 }, signal })).data,
  })
  return (
    <section aria-labelledby="abis">
      <div className="bar">
        <h2 id="abis">ABIs of contracts</h2>
        {mayManageAll && <CreateAbi />}
      </div>
      <Loaded query={abis} lines={1}>
        {(all) =>
          all.length === 0 ? (
            <p>None yet. With the ABI of a contract, the calls and errors of its transactions are shown by name.</p>
          ) : (
            <div className="scroll">
              <table>
                <thead>
                  <tr>
                    <th>Name</th>
                    <th>Network</th>
                    <th>Address</th>
                    <th>
                      <span className="hidden">Actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {all.map(({ id, name, network, address }) => (
                    <tr key={id}>
                      <td title={id}>{name}</td>
                      <td>{network}</td>
                      <td>
                        <Copyable value={address} whole />
                      </td>
                      <td>
                        {mayManageAll && (
                          <Action
                            label="Delete"
                            tone="danger"
                            effect={<p>Later transactions to {name} are not decoded. Earlier ones stay decoded.</p>}
                            run={() => client.delete('/api/v1/abis/{abi_id}', { path: { abi_id: id } })}
                          />
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </section>
  )
}

function CreateAbi() {
  const { client } = useSession()
  const networks = useNetworks()
  const { values, bind, reset } = useForm({ network: '', address: '', name: '', abi: '' })
  return (
    <Action
      label="Add an ABI"
      opened={reset}
      effect={<p>Later transactions to the contract show their calls and errors by name. It allows nothing.</p>}
      run={() => {
        const text = values.abi.trim()
        const abi = text.startsWith('[')
          ? JSON.parse(text)
          : text
              .split('\n')
              .map((line) => line.trim())
              .filter(Boolean)
        const { network, address, name } = values
        return client.post('/api/v1/abis', { body: { network, address, abi, ...given({ name }) } })
      }}
    >
      <label>
        Network
        <select required {...bind('network')}>
          <option value="">Choose one</option>
          {networks.data?.map(({ id, name }) => (
            <option key={id} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        Address
        <input required spellCheck={false} {...bind('address')} />
      </label>
      <label>
        Name (optional)
        <input {...bind('name')} />
      </label>
      <label>
        ABI (the compiler's JSON, or a function, error or event per line)
        <textarea required rows={6} spellCheck={false} {...bind('abi')} />
      </label>
    </Action>
  )
}
