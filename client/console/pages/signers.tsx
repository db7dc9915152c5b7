import { KeyRound } from 'lucide-react'
import { useId, useState } from 'react'
import type { CreateSignerRequest, Signer } from '../../index.ts'
import { given, jsonIn, useForm } from '../data/form.ts'
import { words } from '../data/format.ts'
import { useSigners } from '../data/names.ts'
import { useRelayerIds } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from '../parts/action.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { FoundTable } from '../parts/found-table.tsx'
import { Heading } from '../parts/heading.tsx'
import { Copyable, Identifier, RelayerLink } from '../parts/links.tsx'
import { More } from '../parts/more.tsx'
import { Nothing } from '../parts/nothing.tsx'
import type { Column } from '../parts/table.tsx'

/** Of each type: the members of its `config`. Those with ? are optional, and those with ! are secret. */
const configs: Record<CreateSignerRequest['type'], string[]> = {
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

const about: Record<CreateSignerRequest['type'], string> = {
  generated: 'The service makes a new private key and keeps it encrypted. Nobody can read it again.',
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
export function Signers() {
  const signers = useSigners()
  return (
    <>
      <div className="bar">
        <Heading name="Signers" />
        <CreateSigner />
      </div>
      <Loaded query={signers} lines={6} as="rows">
        {(all) =>
          all.length === 0 ? (
            <Nothing icon={KeyRound} title="No signers yet" create="Create a signer">
              A signer is a private key, or a key in a key service. A relayer uses one.
            </Nothing>
          ) : (
            <FoundTable
              of="signers"
              rows={all}
              columns={columns}
              idOf={({ id }) => id}
              kinds="ID, type or address"
              textsOf={({ id, type, address }) => [id, words(type), address]}
            />
          )
        }
      </Loaded>
    </>
  )
}

const columns: Column<Signer>[] = [
  { name: 'Signer', by: ({ id }) => id, cell: ({ id }) => <Identifier value={id} /> },
  { name: 'Type', by: ({ type }) => type, cell: ({ type }) => words(type) },
  { name: 'Address', cell: ({ address }) => <Copyable value={address} whole /> },
  { name: 'Relayers', cell: ({ address }) => <UsedBy address={address} /> },
  { name: '', cell: (its) => <DeleteSigner its={its} /> },
]

/** The relayers with this key; one per chain. */
function UsedBy({ address }: { address: string }) {
  const relayers = useRelayerIds()
  const its = relayers.data?.filter((one) => one.address.toLowerCase() === address.toLowerCase()) ?? []
  if (its.length === 0) return relayers.data ? <span className="hint">none</span> : '…'
  return (
    <span className="named">
      {its.map(({ id }) => (
        <RelayerLink key={id} id={id} />
      ))}
    </span>
  )
}

function DeleteSigner({ its: { id, address } }: { its: Signer }) {
  const { client } = useSession()
  return (
    <div className="buttons">
      <More of={id} choices={[{ text: 'Delete', opens: `Delete signer ${id}`, tone: 'danger' }]} />
      <Action
        isInMenu
        label="Delete"
        title={`Delete signer ${id}`}
        typed={id}
        tone="danger"
        told={`Signer ${id} is deleted.`}
        effect={
          <p>
            Deletes {id}. A key that the service keeps is gone for good, and with it what {address} owns. It is refused
            while a relayer uses it.
          </p>
        }
        run={() => client.delete('/api/v1/signers/{signer_id}', { path: { signer_id: id } })}
      />
    </div>
  )
}

const types = Object.keys(configs) as CreateSignerRequest['type'][]
const nameOf = (member: string) => member.replace(/[!?]/g, '')
const members = Object.values(configs).flat().map(nameOf)

function CreateSigner() {
  const { client } = useSession()
  const [type, setType] = useState<CreateSignerRequest['type']>('generated')
  const { values, bind, reset } = useForm({
    id: '',
    ...Object.fromEntries(members.map((name) => [name, ''])),
  } as Record<string, string>)
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
      effect={<p>{about[type]}</p>}
      run={async () => (await client.post('/api/v1/signers', { body: body() })).data}
      done={({ id, address }) => (
        <>
          <p>Signer {id} is created. Its address:</p>
          <Copyable value={address} whole />
        </>
      )}
    >
      <label>
        Type
        <select value={type} onChange={(event) => setType(event.target.value as CreateSignerRequest['type'])}>
          {types.map((one) => (
            <option key={one} value={one}>
              {words(one)}
            </option>
          ))}
        </select>
      </label>
      <label>
        ID (optional)
        <input {...bind('id')} />
      </label>
      {configs[type].map((member) => (
        <ConfigField key={member} member={member} field={bind(nameOf(member))} />
      ))}
    </Action>
  )
}

function ConfigField({ member, field }: { member: string; field: ReturnType<ReturnType<typeof useForm>['bind']> }) {
  const name = nameOf(member)
  const id = useId()
  const isOptional = member.includes('?')
  return (
    <label htmlFor={id}>
      {words(name)}
      {isOptional && ' (optional)'}
      {name === 'keystore' ? (
        <textarea id={id} rows={5} required spellCheck={false} {...field} />
      ) : (
        <input
          id={id}
          type={member.includes('!') ? 'password' : 'text'}
          autoComplete="off"
          spellCheck={false}
          required={!isOptional}
          {...field}
        />
      )}
    </label>
  )
}
