import type { UseQueryResult } from '@tanstack/react-query'
import { FileCode2, Network as NetworkIcon } from 'lucide-react'
import { Link } from 'wouter'
import type { Abi, Network, NetworkNode, PrivateRpcUrl, UpdateNetworkRequest } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Address } from '../components/address.tsx'
import { changedIn, useEdited } from '../components/edited.tsx'
import { Entries } from '../components/entries.tsx'
import { EmptyState, Loaded, Skeleton } from '../components/feedback.tsx'
import { Field, Lines, nodeParts, Select } from '../components/fields.tsx'
import { Menu } from '../components/menu.tsx'
import { Crumbs, Heading, ListPage, Missing } from '../components/page.tsx'
import { Price } from '../components/price.tsx'
import { type Column, column, countColumn, networkColumn, stateColumn, Table } from '../components/table.tsx'
import { Age, Badge, Block, Copyable, Figures, RelayerLink } from '../components/values.tsx'
import { linesOf } from '../data/entries.ts'
import { given, jsonIn, nodesOf, relaysOf, useForm } from '../data/form.ts'
import { count, counted } from '../data/format.ts'
import { paths } from '../data/paths.ts'
import { useAbis, useNetworkNames, useNetworkState, useNetworks, useNodes, useRelayers } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { duration } from '../data/times.ts'
import {
  SubmissionFields,
  submissionOf,
  submissionStart,
  submissionText,
  submissionValues,
} from '../transactions/submission.tsx'

/** The networks, with the health of each node. */
export function Networks() {
  const { mayManageAll } = useSession()
  return (
    <>
      <ListPage
        name="Networks"
        of="networks"
        icon={NetworkIcon}
        create="Add a network"
        button={mayManageAll && <AddNetwork />}
        about="A network is an EVM chain and the URLs of its nodes. Relayers send on it."
        query={useNetworks()}
        lines={6}
        as="card"
      >
        {(networks) => <NetworkCards networks={networks} />}
      </ListPage>
      <Abis />
    </>
  )
}

function NetworkCards({ networks }: { networks: Network[] }) {
  const nodes = useNodes(networks.map(({ id }) => id))
  return networks.map((network, index) => <NetworkCard key={network.id} network={network} nodes={nodes[index]} />)
}

/** A network: its state, what its chain asks for now, and its nodes, one of which can be added or removed. */
export function NetworkPage({ network_id }: { network_id: string }) {
  const { mayManageAll } = useSession()
  const networks = useNetworks()
  const network = networks.data?.find(({ id }) => id === network_id)
  const [nodes] = useNodes([network_id])
  const relayers = useRelayers().data?.filter((one) => one.network === network?.name) ?? []
  if (network === undefined)
    return <Loaded query={networks}>{() => <Missing what="Network" to={paths.networks} list="the networks" />}</Loaded>
  return (
    <>
      <Crumbs to={paths.networks} list="Networks">
        {network.name}
      </Crumbs>
      <Heading name={network.name} />
      <NetworkCard network={network} nodes={nodes} isPage />
      {mayManageAll && (
        <p className="hint">
          When a node is added or removed, the URLs of the others keep their keys. Transactions continue.
        </p>
      )}
      <section aria-labelledby="its-relayers">
        <h2 id="its-relayers">Relayers</h2>
        {relayers.length === 0 ? (
          <p className="hint">No relayer uses this network.</p>
        ) : (
          <ul className="plain">
            {relayers.map(({ id }) => (
              <li key={id}>
                <RelayerLink id={id} />
              </li>
            ))}
          </ul>
        )}
      </section>
    </>
  )
}

interface NetworkCardProps {
  network: Network
  nodes: UseQueryResult<NetworkNode[]> | undefined
  isPage?: boolean
}

function NetworkCard({ network, nodes, isPage = false }: NetworkCardProps) {
  const { mayManageAll } = useSession()
  const state = useNetworkState()(network)
  const newest = nodes?.data?.toSorted((a, b) => (b.block_number ?? 0) - (a.block_number ?? 0))[0]
  return (
    <section className="card" aria-label={network.name}>
      <div className="bar">
        <h2>
          {isPage ? 'Chain' : <Link to={paths.network(network.id)}>{network.name}</Link>}{' '}
          {state !== undefined && <Badge state={state} />}
        </h2>
        <NetworkActions network={network} />
      </div>
      <Figures
        of={{
          'Chain ID': network.chain_id,
          'Base fee, last block': newest?.base_fee != null && <Price wei={newest.base_fee} />,
          'Last block': newest?.block_number != null && (
            <LastBlock number={newest.block_number} at={newest.block_at} network={network} />
          ),
          Confirmations: network.required_confirmations,
          Currency: network.symbol ?? 'not set',
          Submission: submissionText(network.submission),
          Explorer: network.explorer_urls[0] !== undefined && <Explorer url={network.explorer_urls[0]} />,
        }}
      />
      {nodes ? (
        <Loaded query={nodes} lines={2} as="rows">
          {(its) => <Nodes nodes={its} network={network} />}
        </Loaded>
      ) : (
        <Skeleton lines={2} as="rows" />
      )}
      {isPage && mayManageAll && <AddNode network={network} />}
      {network.private_rpc_urls.length > 0 && (
        <Table
          of="private relays"
          sorted="Private relay"
          rows={network.private_rpc_urls}
          columns={relayColumns}
          idOf={({ url }) => url}
        />
      )}
    </section>
  )
}

/** `1,308, 4 s ago` */
const LastBlock = ({ number, at, network }: { number: number; at: string | null; network: Network }) => (
  <>
    <Block number={number} network={network.name} />
    {at !== null && (
      <span className="hint">
        , <Age of={at} />
      </span>
    )}
  </>
)

/** A URL as it is shown stands for the stored one, so the secrets of the others are not needed. */
function AddNode({ network }: { network: Network }) {
  const { values, bind, reset } = useForm({ url: '', weight: '100' })
  const { opened, open, lack, difference } = useEdited(network, reset)
  return (
    <Action
      label="Add a node"
      title={`Add a node to ${network.name}`}
      message={`The node is added to ${network.name}.`}
      opened={open}
      lack={lack}
      effect={`${network.name} keeps its ${counted(network.rpc_urls.length, 'node')} and gets one more.`}
      run={(client) => {
        const added = { url: values.url.trim(), weight: Number(values.weight) }
        return client.networks.update(
          network.id,
          { rpc_urls: [...opened.rpc_urls, added] },
          { revision: opened.revision },
        )
      }}
    >
      {difference}
      <Field label="URL" type="url" required placeholder="https://spare.example/v3/KEY" {...bind('url')} />
      <Field kind="whole" label="Weight (0 to 100)" required {...bind('weight')} />
    </Action>
  )
}

/** `index`: its place among the nodes of the network. */
function RemoveNode({ network, index }: { network: Network; index: number }) {
  const { opened, open, lack, difference } = useEdited(network, () => undefined)
  const url = network.rpc_urls[index]?.url ?? ''
  return (
    <div className="buttons">
      <Menu of={url}>
        <Action
          label="Remove"
          title={`Remove the node ${url}`}
          command={`remove node ${index} ${network.id}`}
          tone="danger"
          message={`The node ${url} of ${network.name} is removed.`}
          opened={open}
          lack={lack}
          effect={`${network.name} keeps its other nodes. More than half of them must agree before a transaction is final.`}
          run={(client) =>
            client.networks.update(
              network.id,
              { rpc_urls: opened.rpc_urls.filter((_, place) => place !== index) },
              { revision: opened.revision },
            )
          }
        >
          {difference}
        </Action>
      </Menu>
    </div>
  )
}

const relayColumns: Column<PrivateRpcUrl>[] = [
  { name: 'Private relay', by: ({ url }) => url, cell: ({ url }) => <Copyable value={url} whole /> },
  { name: 'Method', by: ({ method }) => method, cell: ({ method }) => <code>{method}</code> },
  countColumn(
    'Drops after',
    ({ private_expiry_blocks }) => private_expiry_blocks,
    (blocks) => `${count(blocks)} blocks`,
  ),
]

const errorColumn: Column<NetworkNode> = { name: 'Error', cell: ({ error }) => error }

function Nodes({ nodes, network }: { nodes: NetworkNode[]; network: Network }) {
  const { mayManageAll } = useSession()
  const mayRemove = mayManageAll && nodes.length > 1
  const isStill = useNetworkState()(network) === 'no new blocks'
  const head = Math.max(...nodes.map(({ block_number }) => block_number ?? 0))
  const columns: Column<NetworkNode>[] = [
    { name: 'Node', by: ({ url }) => url, cell: ({ url }) => <Copyable value={url} whole /> },
    stateColumn((node) => (node.status === 'healthy' && isStill ? 'no new blocks' : node.status)),
    column('Weight', ({ weight }) => weight, { isNumber: true }),
    countColumn(
      'Last block',
      ({ block_number }) => block_number,
      (block, { block_at }) => (
        <>
          <LastBlock number={block} at={block_at} network={network} />
          {block < head && ` (${count(head - block)} behind)`}
        </>
      ),
    ),
    countColumn('Response time', ({ response_ms }) => response_ms, duration),
    ...(nodes.some(({ error }) => error !== null) ? [errorColumn] : []),
    ...(mayRemove
      ? [{ name: '', cell: (node: NetworkNode) => <RemoveNode network={network} index={nodes.indexOf(node)} /> }]
      : []),
  ]
  return (
    <Table
      of="nodes"
      sorted="Node"
      rows={nodes}
      columns={columns}
      idOf={(node) => `${nodes.indexOf(node)} ${node.url}`}
    />
  )
}

/** What can be done with a network: most of it from a menu. */
function NetworkActions({ network: { id, name }, network }: { network: Network }) {
  const { mayManageAll } = useSession()
  if (!mayManageAll) return null

  return (
    <div className="buttons">
      <EditNetwork network={network} />
      <Menu of={name}>
        <ChangeUrls
          network={network}
          label="Edit nodes"
          title={`Edit nodes of ${name}`}
          message={`The nodes of ${name} are edited.`}
          field="rpc_urls"
          list={nodeList}
          effect={`Replaces all nodes of ${name} with these. ${masked} Transactions continue at once.`}
          bodyOf={(text) => ({ rpc_urls: nodesOf(text) })}
        />
        <ChangeUrls
          network={network}
          label="Edit private relays"
          title={`Edit private relays of ${name}`}
          message={`The private relays of ${name} are edited.`}
          field="private_rpc_urls"
          list={relayList}
          effect={`Replaces all private relays of ${name} with these. An empty list removes them all. ${masked}`}
          bodyOf={(text) => ({ private_rpc_urls: relaysOf(text) })}
        />
        <Action
          label="Delete"
          thing={`network ${name}`}
          tone="danger"
          effect={`Deletes ${name} and the ABIs of its contracts. This is refused while a relayer uses it.`}
          run={(client) => client.networks.delete(id)}
        />
      </Menu>
    </div>
  )
}

/** The API masks the URLs, so they have to be entered again. */
const masked =
  'Paths and keys of the current URLs are hidden, so enter the complete URL of each one that you want to keep.'

const nodeList = { label: 'Node URLs', one: 'node', parts: nodeParts }
const relayList = {
  label: 'Private relays',
  one: 'relay',
  parts: [
    { label: 'URL', placeholder: 'https://relay.example' },
    {
      label: 'Method',
      values: [
        ['', 'usual method'],
        ['eth_sendPrivateTransaction', 'eth_sendPrivateTransaction'],
      ],
    },
    { label: 'Blocks after which it drops a transaction', placeholder: 'blocks' },
  ],
} as const

type UrlsProps = Record<'label' | 'title' | 'message' | 'effect', string> & {
  list: typeof nodeList | typeof relayList
  network: Network
  /** The contract's name. */
  field: 'rpc_urls' | 'private_rpc_urls'
  bodyOf(text: string): UpdateNetworkRequest
}

function ChangeUrls({ network, field, list, bodyOf, ...its }: UrlsProps) {
  const { values, bind, reset } = useForm({ [field]: '' })
  const { opened, open, lack, difference } = useEdited(network, reset)
  const { id, revision } = opened
  return (
    <Action
      {...its}
      opened={open}
      lack={lack}
      run={(client) => client.networks.update(id, bodyOf(values[field] ?? ''), { revision })}
    >
      {difference}
      <Entries {...list} {...bind(field)} />
    </Action>
  )
}

const textsOf = (network: Network) => ({
  symbol: network.symbol ?? '',
  required_confirmations: `${network.required_confirmations}`,
  explorer_urls: network.explorer_urls[0] ?? '',
  ...submissionValues(network.submission),
})

function EditNetwork({ network }: { network: Network }) {
  const { id, name } = network
  const { values, bind, reset } = useForm(textsOf(network))
  const { opened, open, lack, difference } = useEdited(network, reset)
  const bodyOf = (texts: typeof values): UpdateNetworkRequest => ({
    symbol: texts.symbol || null,
    required_confirmations: Number(texts.required_confirmations),
    submission: submissionOf(texts) ?? null,
    explorer_urls: texts.explorer_urls === '' ? [] : [texts.explorer_urls, ...opened.explorer_urls.slice(1)],
  })
  return (
    <Action
      label="Edit"
      thing={`network ${name}`}
      opened={open}
      lack={lack}
      effect={`Changes ${name}. With more confirmations, new transactions are final later.`}
      run={(client) =>
        client.networks.update(id, changedIn(bodyOf(textsOf(opened)), bodyOf(values)), { revision: opened.revision })
      }
    >
      {difference}
      <Field label="Currency symbol" {...bind('symbol')} />
      <Field kind="whole" label="Required confirmations" required {...bind('required_confirmations')} />
      <Field label="Explorer URL" type="url" {...bind('explorer_urls')} />
      <SubmissionFields bind={bind} />
    </Action>
  )
}

const blank = { name: '', chain_id: '', rpc_urls: '', symbol: '' }
const optional = { required_confirmations: '', explorer_urls: '', private_rpc_urls: '' }

/** Adds a network, and says whether its nodes answer. */
function AddNetwork() {
  const { values, bind, reset } = useForm({ ...blank, ...optional, ...submissionStart })
  const submission = submissionOf(values)
  return (
    <Action
      label="Add a network"
      tone="primary"
      opened={reset}
      effect="A network is an EVM chain and the URLs of its nodes."
      run={async (client) =>
        client.networks.create({
          name: values.name,
          network_type: 'evm',
          chain_id: Number(values.chain_id),
          rpc_urls: nodesOf(values.rpc_urls),
          private_rpc_urls: relaysOf(values.private_rpc_urls),
          ...given({ symbol: values.symbol }),
          ...(submission && { submission }),
          ...(values.required_confirmations !== '' && {
            required_confirmations: Number(values.required_confirmations),
          }),
          ...(values.explorer_urls !== '' && { explorer_urls: [values.explorer_urls] }),
        })
      }
      done={({ name, warnings = [] }) =>
        warnings.length === 0
          ? `Network ${name} is added, and its nodes answer.`
          : `Network ${name} is added, but its nodes do not work: ${warnings.map(({ message }) => message).join('; ')}`
      }
    >
      <Field
        kind="id"
        label="Name"
        hint="Relayers and requests use this name."
        required
        placeholder="polygon"
        {...bind('name')}
      />
      <Field
        kind="whole"
        label="Chain ID"
        hint="The number of the chain (EIP-155). Every node must report it."
        required
        placeholder="137"
        {...bind('chain_id')}
      />
      <Entries {...nodeList} required {...bind('rpc_urls')} />
      <Field label="Currency symbol (optional)" placeholder="POL" {...bind('symbol')} />
      <Field
        kind="whole"
        label="Required confirmations (optional)"
        hint="Blocks until a transaction is final. Empty: the chain's default."
        placeholder="12"
        {...bind('required_confirmations')}
      />
      <Field
        label="Explorer URL (optional)"
        type="url"
        placeholder="https://polygonscan.com"
        {...bind('explorer_urls')}
      />
      <Entries {...relayList} label="Private relays (optional)" {...bind('private_rpc_urls')} />
      <SubmissionFields
        bind={bind}
        none="public, unless a request says otherwise"
        only={['private', 'private_then_public']}
      />
    </Action>
  )
}

/** The ABIs of contracts, which decode calls and errors. */
function Abis() {
  const { mayManageAll } = useSession()
  return (
    <section aria-labelledby="abis">
      <div className="bar">
        <h2 id="abis">ABIs of contracts</h2>
        {mayManageAll && <CreateAbi />}
      </div>
      <Loaded query={useAbis()} lines={2} as="rows">
        {(abis) => (
          <Table
            of="ABIs"
            sorted="Contract"
            rows={abis}
            columns={columns}
            idOf={({ id }) => id}
            none={
              <EmptyState icon={FileCode2} title="No ABIs yet" create={mayManageAll && 'Add an ABI'}>
                With the ABI of a contract, the calls, events and errors of its transactions are shown by name.
              </EmptyState>
            }
          />
        )}
      </Loaded>
    </section>
  )
}

type AbiRow = Pick<Abi, 'id' | 'name' | 'network' | 'address'>

const columns: Column<AbiRow>[] = [
  { name: 'Contract', by: ({ name }) => name, cell: ({ id, name }) => <span title={id}>{name}</span> },
  networkColumn(),
  {
    name: 'Address',
    cell: ({ address, network }) => <Address value={address} network={network} what="Contract" whole isUnnamed />,
  },
  { name: '', cell: (abi) => <DeleteAbi {...abi} /> },
]

const Explorer = ({ url }: { url: string }) =>
  /^https?:\/\//i.test(url) ? (
    <a href={url} title={url} target="_blank" rel="noopener noreferrer">
      {url.replace(/^https:\/\/|\/$/g, '')}
    </a>
  ) : (
    url
  )

function DeleteAbi({ id, name }: AbiRow) {
  const { mayManageAll } = useSession()
  if (!mayManageAll) return null
  return (
    <div className="buttons">
      <Menu of={name}>
        <Action
          label="Delete"
          title={`Delete ABI of ${name}`}
          command={`delete ${id}`}
          tone="danger"
          effect={`Later transactions to ${name} are not decoded. Earlier ones stay decoded.`}
          run={(client) => client.abis.delete(id)}
          message={`The ABI of ${name} is deleted.`}
        />
      </Menu>
    </div>
  )
}

function CreateAbi() {
  const { values, bind, reset } = useForm({ network: '', address: '', name: '', abi: '' })
  return (
    <Action
      label="Add an ABI"
      opened={reset}
      effect="Later transactions to the contract show their calls and errors by name. It grants no rights."
      run={async (client) => {
        const text = values.abi.trim()
        const abi = text.startsWith('[') ? (jsonIn('abi', text) as string[]) : linesOf(text)
        const { network, address, name } = values
        return client.abis.create({ network, address, abi, ...given({ name }) })
      }}
      message={({ name }) => `The ABI of ${name} is added. Its calls and errors are shown by name from now on.`}
    >
      <Select label="Network" none="Choose one" required values={useNetworkNames()} {...bind('network')} />
      <Field kind="id" label="Address" required {...bind('address')} />
      <Field label="Name (optional)" {...bind('name')} />
      <Lines
        label="ABI (the compiler's JSON, or a function, error or event per line)"
        required
        rows={6}
        {...bind('abi')}
      />
    </Action>
  )
}
