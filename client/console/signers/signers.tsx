import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import type { CreateSignerRequest, Signer } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Address } from '../components/address.tsx'
import { Field, Lines, Select } from '../components/fields.tsx'
import { Menu } from '../components/menu.tsx'
import { ListPage } from '../components/page.tsx'
import { type Column, SearchedTable } from '../components/table.tsx'
import { Identifier, Pending, RelayerLink } from '../components/values.tsx'
import { given, jsonIn, useForm } from '../data/form.ts'
import { words } from '../data/format.ts'
import { useRelayers, useSigners } from '../data/resources.ts'

type SignerType = CreateSignerRequest['type']

/** Of each type: the members of its `config`. Those with ? are optional, and those with ! are secret. */
const configs: Record<SignerType, string[]> = {
  generated: [],
  plain: ['key!'],
  keystore: ['keystore', 'passphrase!'],
  aws_kms: ['key_id', 'region?', 'endpoint?'],
  google_cloud_kms: ['key_version', 'service_account?', 'endpoint?'],
  azure_key_vault: ['vault_url', 'key_name', 'key_version?', 'tenant_id?', 'client_id?', 'client_secret!?'],
  pkcs11: ['token_label', 'module?', 'key_label?', 'key_id?', 'pin!?'],
  remote: ['url', 'address', 'interface?'],
  vault: ['url', 'path', 'namespace?', 'mount?', 'field?', 'token!?', 'role_id?', 'secret_id!?'],
}

const about: Record<SignerType, string> = {
  generated: 'The service creates a private key and keeps it encrypted. Nobody can read it again.',
  plain: 'The service keeps this private key, encrypted.',
  keystore: 'The service decrypts this V3 keystore once, and keeps the key encrypted.',
  aws_kms: 'The key stays in AWS KMS.',
  google_cloud_kms: 'The key stays in Google Cloud KMS.',
  azure_key_vault: 'The key stays in Azure Key Vault.',
  pkcs11: 'The key stays in the PKCS #11 token.',
  remote: 'The key stays in the remote signer.',
  vault: 'The key stays in HashiCorp Vault.',
}

/** The private keys, without the keys themselves. */
export const Signers = () => (
  <ListPage
    name="Signers"
    of="signers"
    icon={KeyRound}
    create="Create a signer"
    button={<CreateSigner />}
    about="A signer is a private key, or a key in a key service. Each relayer uses one."
    query={useSigners()}
    lines={6}
  >
    {(signers) => (
      <SearchedTable
        of="signers"
        rows={signers}
        columns={columns}
        idOf={({ id }) => id}
        kinds="ID, type or address"
        textsOf={(signer) => [signer.id, typeText(signer), signer.address]}
        sorted="Signer"
      />
    )}
  </ListPage>
)

const columns: Column<Signer>[] = [
  { name: 'Signer', by: ({ id }) => id, cell: ({ id }) => <Identifier value={id} /> },
  { name: 'Type', by: typeText, cell: typeText },
  {
    name: 'Address',
    cell: ({ address }) => <Address value={address} network={undefined} what="Signer" whole isUnnamed />,
  },
  { name: 'Relayers', cell: ({ address }) => <UsedBy address={address} /> },
  { name: '', cell: (signer) => <DeleteSigner {...signer} /> },
]

/** Where the key is. One of the service is `local`, as no network is. */
function typeText({ type }: Signer): string {
  return type === 'local' ? 'this service' : words(type)
}

/** The relayers with this key; one per chain. */
function UsedBy({ address }: { address: string }) {
  const relayers = useRelayers()
  const users = relayers.data?.filter((one) => one.address.toLowerCase() === address.toLowerCase()) ?? []
  if (users.length === 0) return relayers.data ? <span className="hint">none</span> : <Pending />
  return (
    <span className="named">
      {users.map(({ id }) => (
        <RelayerLink key={id} id={id} />
      ))}
    </span>
  )
}

const DeleteSigner = ({ id, address }: Signer) => (
  <div className="buttons">
    <Menu of={id}>
      {' '}
      <Action
        label="Delete"
        thing={`signer ${id}`}
        typed={id}
        tone="danger"
        effect={`Deletes ${id}. If the service keeps the key, it is lost for good, and with it what ${address} owns. This is refused while a relayer uses it.`}
        run={(client) => client.signers.delete(id)}
      />
    </Menu>
  </div>
)

const types = Object.keys(configs) as SignerType[]
const nameOf = (member: string) => member.replace(/[!?]/g, '')
const blank = Object.fromEntries(['id', ...Object.values(configs).flat().map(nameOf)].map((name) => [name, '']))

function CreateSigner() {
  const [type, setType] = useState<SignerType>('generated')
  const { values, bind, reset } = useForm(blank)
  function body(): CreateSignerRequest {
    const config: Record<string, unknown> = given(
      Object.fromEntries(configs[type].map((member) => [nameOf(member), values[nameOf(member)]])),
    )
    if (type === 'keystore') config.keystore = jsonIn('keystore', values.keystore ?? '')
    return { ...given({ id: values.id }), type, config } as CreateSignerRequest
  }
  return (
    <Action
      label="Create a signer"
      tone="primary"
      opened={reset}
      effect={about[type]}
      run={async (client) => client.signers.create(body())}
      done={({ id, address }) => (
        <>
          <p>Signer {id} is created. Its address:</p>
          <Address value={address} network={undefined} what="Signer" whole isUnnamed />
        </>
      )}
    >
      <Select
        label="Type"
        values={types.map((one) => [one, words(one)] as const)}
        value={type}
        onChange={({ target }) => setType(target.value as SignerType)}
      />
      <Field label="ID (optional)" {...bind('id')} />
      {configs[type].map((member) => (
        <ConfigField key={member} member={member} field={bind(nameOf(member))} />
      ))}
    </Action>
  )
}

function ConfigField({ member, field }: { member: string; field: ReturnType<ReturnType<typeof useForm>['bind']> }) {
  const isOptional = member.includes('?')
  const label = `${words(nameOf(member))}${isOptional ? ' (optional)' : ''}`
  if (member === 'keystore') return <Lines label={label} rows={5} required {...field} />
  const type = member.includes('!') ? 'password' : 'text'
  return <Field kind="id" label={label} type={type} required={!isOptional} {...field} />
}
