import { Network as NetworkIcon } from 'lucide-react'
import type { Network, NetworkNode, PrivateRpcUrl } from '../../index.ts'
import { count } from '../data/format.ts'
import { useNetworks, useNodes } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Abis } from '../parts/abis.tsx'
import { Badge } from '../parts/badge.tsx'
import { CreateNetwork } from '../parts/create-network.tsx'
import { Loaded, Skeleton } from '../parts/feedback.tsx'
import { Figure } from '../parts/figure.tsx'
import { Heading } from '../parts/heading.tsx'
import { Copyable } from '../parts/links.tsx'
import { Age, byAge } from '../parts/moment.tsx'
import { NetworkActions } from '../parts/network-forms.tsx'
import { Nothing } from '../parts/nothing.tsx'
import { submissionText } from '../parts/submission.tsx'
import { type Column, Table } from '../parts/table.tsx'

/** The networks, with the health of each node. */
export function Networks() {
  const { mayManageAll } = useSession()
  const networks = useNetworks()
  return (
    <>
      <div className="bar">
        <Heading name="Networks" />
        <CreateNetwork />
      </div>
      <Loaded query={networks} lines={6} as="card">
        {(all) =>
          all.length === 0 ? (
            <Nothing icon={NetworkIcon} title="No networks yet" create={mayManageAll && 'Create a network'}>
              A network is an EVM chain and the URLs of its nodes. Relayers send on it.
            </Nothing>
          ) : (
            <List networks={all} />
          )
        }
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
        <NetworkActions network={network} />
      </div>
      <dl className="figures">
        <Figure name="Chain ID">{network.chain_id}</Figure>
        <Figure name="Confirmations">{network.required_confirmations}</Figure>
        <Figure name="Currency">{network.symbol ?? 'not set'}</Figure>
        <Figure name="Submission">{submissionText(network.submission)}</Figure>
        {network.explorer_urls[0] !== undefined && <Figure name="Explorer">{network.explorer_urls[0]}</Figure>}
      </dl>
      {nodes[index] ? (
        <Loaded query={nodes[index]} lines={2} as="rows">
          {(its) => <Nodes nodes={its} blocktime_ms={network.average_blocktime_ms ?? default_blocktime_ms} />}
        </Loaded>
      ) : (
        <Skeleton lines={2} as="rows" />
      )}
      {network.private_rpc_urls.length > 0 && <Relays relays={network.private_rpc_urls} />}
    </section>
  ))
}

const Relays = ({ relays }: { relays: PrivateRpcUrl[] }) => (
  <Table of="private relays" rows={relays} columns={relay_columns} idOf={({ url }) => url} />
)

const relay_columns: Column<PrivateRpcUrl>[] = [
  { name: 'Private relay', by: ({ url }) => url, cell: ({ url }) => <Copyable value={url} whole /> },
  { name: 'Takes', by: ({ method }) => method, cell: ({ method }) => <code>{method}</code> },
  {
    name: 'Drops after',
    isNumber: true,
    by: ({ drops_after_blocks }) => drops_after_blocks,
    cell: ({ drops_after_blocks }) => `${count(drops_after_blocks)} blocks`,
  },
]

const error_column: Column<NetworkNode> = { name: 'Error', cell: ({ error }) => error }

/** A chain whose last block is older than so many block times makes none. */
const many_blocks = 20
const default_blocktime_ms = 12_000
const min_old_ms = 60_000

function Nodes({ nodes, blocktime_ms }: { nodes: NetworkNode[]; blocktime_ms: number }) {
  const old_ms = Math.max(many_blocks * blocktime_ms, min_old_ms)
  const head = Math.max(...nodes.map(({ block_number }) => block_number ?? 0))
  const columns: Column<NetworkNode>[] = [
    { name: 'Node', by: ({ url }) => url, cell: ({ url }) => <Copyable value={url} whole /> },
    { name: 'Status', isBeside: true, by: ({ status }) => status, cell: ({ status }) => <Badge state={status} /> },
    { name: 'Weight', isNumber: true, by: ({ weight }) => weight, cell: ({ weight }) => weight },
    {
      name: 'Block',
      isNumber: true,
      by: ({ block_number }) => block_number ?? -1,
      cell: ({ block_number }) =>
        block_number === null
          ? '–'
          : `${count(block_number)}${block_number < head ? ` (${count(head - block_number)} behind)` : ''}`,
    },
    {
      name: 'Last block',
      isNumber: true,
      by: ({ block_at }) => byAge(block_at),
      cell: ({ block_at }) =>
        block_at === null ? (
          '–'
        ) : (
          <span className={Date.now() - Date.parse(block_at) > old_ms ? 'warn-text' : undefined}>
            <Age of={block_at} />
          </span>
        ),
    },
    {
      name: 'Response time',
      isNumber: true,
      by: ({ response_ms }) => response_ms ?? -1,
      cell: ({ response_ms }) => (response_ms === null ? '–' : `${count(response_ms)} ms`),
    },
    ...(nodes.some(({ error }) => error !== null) ? [error_column] : []),
  ]
  return <Table of="nodes" rows={nodes} columns={columns} idOf={({ url }) => url} />
}
