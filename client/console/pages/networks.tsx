import { useState } from 'react'
import type { Network, NetworkNode } from '../../index.ts'
import { useNetworks, useNodes } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from '../parts/action.tsx'
import { Badge } from '../parts/badge.tsx'
import { Loaded, Skeleton } from '../parts/feedback.tsx'
import { Copyable } from '../parts/links.tsx'

const max_shown = 50

/** The networks, with the health of each node. */
export function Networks() {
  const networks = useNetworks()
  return (
    <>
      <h1>Networks</h1>
      <Loaded query={networks}>{(all) => <List networks={all.slice(0, max_shown)} />}</Loaded>
    </>
  )
}

function List({ networks }: { networks: Network[] }) {
  const nodes = useNodes(networks.map(({ id }) => id))
  return networks.map((network, index) => (
    <section key={network.id} className="card" aria-label={network.name}>
      <div className="bar">
        <h2>{network.name}</h2>
        <EditNodes network={network} />
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
      {nodes[index]?.data ? <Nodes nodes={nodes[index].data} /> : <Skeleton lines={1} />}
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
