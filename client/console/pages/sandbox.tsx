import { useMutation, useQuery } from '@tanstack/react-query'
import { FlaskConical } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import type { SendTransactionRequest } from '../../index.ts'
import type { ExampleCall } from '../../samples/operation.ts'
import { argumentsOf } from '../data/arguments.ts'
import { useCommand } from '../data/commands.ts'
import { useForm } from '../data/form.ts'
import { exactly, weiOf } from '../data/format.ts'
import { useNetworks, useRelayerIds, useSymbols } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { CreateRelayer } from '../parts/create-relayer.tsx'
import { Faults, useFaults } from '../parts/faults.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { Nothing } from '../parts/nothing.tsx'
import { RelayerField } from '../parts/relayer-field.tsx'
import { Samples } from '../parts/samples.tsx'
import { Segments } from '../parts/segments.tsx'
import { SendIt } from '../parts/send-it.tsx'
import { SubmissionFields, submission_start, submissionOf, submissionText } from '../parts/submission.tsx'
import { TransactionFields, type TransactionForm } from '../parts/transaction-fields.tsx'

const base = '/api/v1/relayers/{relayer_id}'
const kinds = { sign: 'Sign a message', test: 'Simulate a transaction' } as const

interface Form extends TransactionForm {
  message: string
}

/** Signs, simulates and sends, and shows the same request as curl and as TypeScript. */
export function Sandbox({ params }: { params: { relayer_id?: string; transaction_id?: string } }) {
  const { client, may } = useSession()
  const { relayer_id = '', transaction_id } = params
  const relayers = useRelayerIds()
  const [isHeld, hold] = useState(false)
  const model = useQuery({
    queryKey: ['transaction', relayer_id, transaction_id],
    queryFn: async ({ signal }) =>
      (
        await client.get(`${base}/transactions/{transaction_id}`, {
          path: { relayer_id, transaction_id: transaction_id ?? '' },
          signal,
        })
      ).data,
    enabled: transaction_id !== undefined && may('read'),
  })
  const start = { message: 'Hello', to: '', value: '0', data: '', called: '', args: '', gas_limit: '' }
  return (
    <>
      <Heading name="Sandbox" />
      {isHeld || relayers.data?.length === 0 ? (
        <Nothing icon={FlaskConical} title="No relayers yet" action={<CreateRelayer hold={hold} />}>
          The sandbox signs, simulates and sends with a relayer.
        </Nothing>
      ) : transaction_id === undefined ? (
        <SandboxForm key={relayer_id} chosen={relayer_id} start={start} />
      ) : (
        <Loaded query={model}>
          {({ to, value, data }) => (
            <SandboxForm
              chosen={relayer_id}
              start={{ ...start, to: to ?? '', value: exactly(value), data: data ?? '' }}
              isTransaction
            />
          )}
        </Loaded>
      )}
    </>
  )
}

function SandboxForm({
  chosen,
  start,
  isTransaction = false,
}: {
  chosen: string
  start: Form
  isTransaction?: boolean
}) {
  const { client, may } = useSession()
  const relayers = useRelayerIds()
  const symbolOf = useSymbols()
  const networks = useNetworks()
  const [relayer_id, setRelayer] = useState(chosen)
  const [form, setForm] = useState(start)
  const [kind, setKind] = useState<keyof typeof kinds>(isTransaction || !may('sign') ? 'test' : 'sign')
  useCommand(`Send from ${chosen}`, () => setKind('test'))
  const way = useForm(submission_start)
  const submission = submissionOf(way.values)
  const set = (name: keyof Form) => (event: { target: { value: string } }) =>
    setForm({ ...form, [name]: event.target.value })

  // Of no relayer by itself: a signature is asked for by name.
  const path = { relayer_id: relayer_id.trim() }
  const chosenRelayer = relayers.data?.find(({ id }) => id === path.relayer_id)
  const symbol = symbolOf(chosenRelayer?.network)
  const usual = networks.data?.find(({ name }) => name === chosenRelayer?.network)?.submission
  const asUsual = `as the network sets it${usual ? `: ${submissionText(usual)}` : ''}`
  const wei = weiOf(form.value)
  const gas = form.gas_limit.trim()
  const transaction: SendTransactionRequest = {
    ...(form.to.trim() !== '' && { to: form.to.trim() }),
    value: wei ?? '0',
    ...(form.called.trim() !== ''
      ? { call: { function: form.called.trim(), args: argumentsOf(form.args) } }
      : form.data.trim() !== '' && { data: form.data.trim() }),
    ...(gas !== '' && { gas_limit: Number(gas) }),
    ...(submission && { submission }),
  }
  const body = kind === 'sign' ? { message: form.message } : transaction
  const request: ExampleCall = {
    method: 'post',
    path: kind === 'sign' ? `${base}/sign` : `${base}/transactions/dry-run`,
    parameters: { path: { relayer_id: path.relayer_id || 'RELAYER_ID' }, query: {}, header: {} },
    body,
    needs_token: true,
    answer: 'data',
  }
  const { form: ref, faults, check, blame, forgive } = useFaults()
  const run = useMutation({
    onError: blame,
    mutationFn: async (): Promise<unknown> =>
      kind === 'sign'
        ? (await client.post(`${base}/sign`, { path, body: { message: form.message } })).data
        : (await client.post(`${base}/transactions/dry-run`, { path, body: transaction })).data,
  })

  function submit(event: FormEvent) {
    event.preventDefault()
    if (!run.isPending && check()) run.mutate()
  }

  return (
    <div className="columns">
      <form className="card" ref={ref} noValidate onSubmit={submit} onChange={forgive}>
        <Segments
          label="Action"
          values={(Object.keys(kinds) as (keyof typeof kinds)[]).filter((one) => may(one === 'sign' ? 'sign' : 'send'))}
          texts={kinds}
          value={kind}
          choose={setKind}
        />
        <RelayerField value={relayer_id} set={setRelayer} />
        {kind === 'sign' ? (
          <label>
            Message
            <textarea name="message" rows={4} value={form.message} onChange={set('message')} />
          </label>
        ) : (
          <>
            <TransactionFields form={form} set={set} symbol={symbol} />
            <SubmissionFields bind={way.bind} none={asUsual} />
          </>
        )}
        <Faults faults={faults} />
        <div className="buttons">
          <button type="submit" className="primary" aria-busy={run.isPending}>
            {kind === 'sign' ? 'Sign' : 'Simulate'}
          </button>
          {kind === 'test' && (
            <SendIt
              relayer_id={path.relayer_id}
              relayer={chosenRelayer}
              transaction={transaction}
              symbol={symbol}
              asUsual={asUsual}
              isReady={check}
            />
          )}
        </div>
        {run.data !== undefined && (
          <section aria-label="Result">
            <h2>Result</h2>
            <pre>{JSON.stringify(run.data, null, 2)}</pre>
          </section>
        )}
      </form>
      <Samples request={request} />
    </div>
  )
}
