import { FileCode2 } from 'lucide-react'
import { given, jsonIn, linesOf, useForm } from '../data/form.ts'
import { useAbis } from '../data/names.ts'
import { useExplorer, useNetworks } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { Loaded } from './feedback.tsx'
import { Copyable, ExplorerLink } from './links.tsx'
import { More } from './more.tsx'
import { Nothing } from './nothing.tsx'
import { Options } from './options.tsx'
import { type Column, Table } from './table.tsx'

/** The ABIs of contracts, which decode calls and errors. */
export function Abis() {
  const { mayManageAll } = useSession()
  const abis = useAbis()
  return (
    <section aria-labelledby="abis">
      <div className="bar">
        <h2 id="abis">ABIs of contracts</h2>
        {mayManageAll && <CreateAbi />}
      </div>
      <Loaded query={abis} lines={2} as="rows">
        {(all) =>
          all.length === 0 ? (
            <Nothing icon={FileCode2} title="No ABIs yet" create={mayManageAll && 'Add an ABI'}>
              With the ABI of a contract, the calls, events and errors of its transactions are shown by name.
            </Nothing>
          ) : (
            <Table of="ABIs" rows={all} columns={columns} idOf={({ id }) => id} />
          )
        }
      </Loaded>
    </section>
  )
}

type Abi = NonNullable<ReturnType<typeof useAbis>['data']>[number]

const columns: Column<Abi>[] = [
  { name: 'Contract', by: ({ name }) => name, cell: ({ id, name }) => <span title={id}>{name}</span> },
  { name: 'Network', by: ({ network }) => network, cell: ({ network }) => network },
  {
    name: 'Address',
    cell: ({ address, network }) => (
      <span className="copyable">
        <Copyable value={address} whole /> <Explored address={address} network={network} />
      </span>
    ),
  },
  { name: '', cell: (its) => <DeleteAbi its={its} /> },
]

const Explored = ({ address, network }: { address: string; network: string }) => (
  <ExplorerLink to={useExplorer(network)('address', address)} what="Contract" />
)

function DeleteAbi({ its: { id, name } }: { its: Abi }) {
  const { client, mayManageAll } = useSession()
  if (!mayManageAll) return null
  return (
    <div className="buttons">
      <More of={name} choices={[{ text: 'Delete', opens: `delete ${id}`, tone: 'danger' }]} />
      <Action
        isInMenu
        label="Delete"
        title={`Delete ABI of ${name}`}
        command={`delete ${id}`}
        tone="danger"
        effect={<p>Later transactions to {name} are not decoded. Earlier ones stay decoded.</p>}
        run={() => client.delete('/api/v1/abis/{abi_id}', { path: { abi_id: id } })}
        told={`The ABI of ${name} is deleted.`}
      />
    </div>
  )
}

function CreateAbi() {
  const { client } = useSession()
  const networks = useNetworks()
  const { values, bind, reset } = useForm({ network: '', address: '', name: '', abi: '' })
  return (
    <Action
      label="Add an ABI"
      told={({ data: { name } }) => `The ABI of ${name} is added. Its calls and errors are shown by name from now on.`}
      opened={reset}
      effect={<p>Later transactions to the contract show their calls and errors by name. It allows nothing.</p>}
      run={() => {
        const text = values.abi.trim()
        const abi = text.startsWith('[') ? (jsonIn('abi', text) as string[]) : linesOf(text)
        const { network, address, name } = values
        return client.post('/api/v1/abis', { body: { network, address, abi, ...given({ name }) } })
      }}
    >
      <label>
        Network
        <select required {...bind('network')}>
          <option value="">Choose one</option>
          <Options of={networks.data?.map(({ name }) => name)} />
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
