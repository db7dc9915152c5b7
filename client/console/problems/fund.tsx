import type { Relayer } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Field, Select } from '../components/fields.tsx'
import { Copyable, CopyButton } from '../components/values.tsx'
import { useForm, weiIn } from '../data/form.ts'
import { useRelayers, useSymbols } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'

/** Sends coins to one of these relayers from another one of its network. Its address is for any other wallet. */
export function Fund({ of }: { of: Relayer[] }) {
  const { may } = useSession()
  const { values, bind, reset } = useForm({ to: '', from: '', amount: '' })
  const all = useRelayers().data ?? []
  const symbolOf = useSymbols()
  const receiver = of.find(({ id }) => of.length === 1 || id === values.to)
  const symbol = symbolOf(receiver?.network)
  const others = all.filter(({ network, id }) => network === receiver?.network && id !== receiver.id)
  if (receiver && of.length === 1 && (!may('send') || others.length === 0))
    return (
      <CopyButton text={receiver.address} label={`Copy address of ${receiver.id}`}>
        Copy address
      </CopyButton>
    )
  return (
    <Action
      label="Fund"
      title={of.length === 1 ? `Fund relayer ${receiver?.id}` : 'Fund a relayer'}
      confirm="Send"
      opened={reset}
      effect="Send coins to the address of the relayer from any wallet, or here from another relayer of its network."
      run={async (client, key) =>
        client.post('/api/v1/relayers/{relayer_id}/transactions', {
          path: { relayer_id: values.from },
          header: { 'Idempotency-Key': key },
          body: { to: receiver?.address ?? '', value: weiIn('amount', values.amount, symbol) },
        })
      }
      message={`${values.from} sends ${values.amount} ${symbol} to ${receiver?.id}.`}
    >
      {of.length > 1 && (
        <Select label="To" none="Choose a relayer" required values={of.map(({ id }) => id)} {...bind('to')} />
      )}
      {receiver && <Copyable value={receiver.address} whole />}
      <Select label="From" none="Choose a relayer" required values={others.map(({ id }) => id)} {...bind('from')} />
      <Field kind="amount" label={`Amount in ${symbol}`} required {...bind('amount')} />
    </Action>
  )
}
