import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { SendTransactionRequest } from '../../index.ts'
import { curlSample } from '../../samples/curl.ts'
import type { ExampleCall } from '../../samples/operation.ts'
import { useRelayers } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { typescriptCall } from '../data/typescript-call.ts'
import { Action } from '../parts/action.tsx'
import { errorText, Loaded, Problem } from '../parts/feedback.tsx'

const base = '/api/v1/relayers/{relayer_id}'
const shown_characters = 4_000
const kinds = { sign: 'Sign a message', test: 'Simulate a transaction' } as const

interface Form {
  message: string
  to: string
  value: string
  data: string
}

/** Signs, simulates and sends, and shows the same request as curl and as TypeScript. */
export function Sandbox({ params }: { params: { relayer_id?: string; transaction_id?: string } }) {
  const { client, may } = useSession()
  const { relayer_id = '', transaction_id } = params
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
  const start = { message: 'Hello', to: '', value: '0', data: '' }
  return (
    <>
      <h1>Sandbox</h1>
      {transaction_id === undefined ? (
        <SandboxForm chosen={relayer_id} start={start} />
      ) : (
        <Loaded query={model}>
          {({ to, value, data }) => (
            <SandboxForm
              chosen={relayer_id}
              start={{ ...start, to: to ?? '', value, data: data ?? '' }}
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
  const relayers = useRelayers()
  const options = useId()
  const [relayer_id, setRelayer] = useState(chosen)
  const [form, setForm] = useState(start)
  const [kind, setKind] = useState<keyof typeof kinds>(isTransaction || !may('sign') ? 'test' : 'sign')
  const set = (name: keyof Form) => (event: { target: { value: string } }) =>
    setForm({ ...form, [name]: event.target.value })

  const path = { relayer_id: relayer_id || relayers.data?.[0]?.id || 'demo' }
  const transaction: SendTransactionRequest = {
    ...(form.to.trim() !== '' && { to: form.to.trim() }),
    value: form.value.trim(),
    ...(form.data.trim() !== '' && { data: form.data.trim() }),
  }
  const body = kind === 'sign' ? { message: form.message } : transaction
  const request: ExampleCall = {
    method: 'post',
    path: kind === 'sign' ? `${base}/sign` : `${base}/transactions/dry-run`,
    parameters: { path, query: {}, header: {} },
    body,
    needs_token: true,
    answer: 'data',
  }
  const run = useMutation({
    mutationFn: async (): Promise<unknown> =>
      kind === 'sign'
        ? (await client.post(`${base}/sign`, { path, body: { message: form.message } })).data
        : (await client.post(`${base}/transactions/dry-run`, { path, body: transaction })).data,
  })

  function submit(event: FormEvent) {
    event.preventDefault()
    run.mutate()
  }

  return (
    <div className="columns">
      <form className="card" onSubmit={submit}>
        <fieldset className="choice">
          <legend className="hidden">Action</legend>
          {(Object.keys(kinds) as (keyof typeof kinds)[])
            .filter((one) => may(one === 'sign' ? 'sign' : 'send'))
            .map((one) => (
              <button key={one} type="button" aria-pressed={kind === one} onClick={() => setKind(one)}>
                {kinds[one]}
              </button>
            ))}
        </fieldset>
        <label>
          Relayer
          <input
            list={options}
            value={relayer_id}
            placeholder={path.relayer_id}
            onChange={(event) => setRelayer(event.target.value)}
          />
        </label>
        <datalist id={options}>
          {relayers.data?.map(({ id }) => (
            <option key={id} value={id} />
          ))}
        </datalist>
        {kind === 'sign' ? (
          <label>
            Message
            <textarea rows={4} value={form.message} onChange={set('message')} />
          </label>
        ) : (
          <>
            <label>
              To (empty: creates a contract)
              <input spellCheck={false} value={form.to} onChange={set('to')} />
            </label>
            <label>
              Value in wei
              <input inputMode="numeric" value={form.value} onChange={set('value')} />
            </label>
            <label>
              Data
              <textarea rows={3} spellCheck={false} value={form.data} onChange={set('data')} />
            </label>
          </>
        )}
        <div className="buttons">
          <button type="submit" className="primary" disabled={run.isPending}>
            {kind === 'sign' ? 'Sign' : 'Simulate'}
          </button>
          {kind === 'test' && (
            <Action
              label="Send it"
              tone="danger"
              effect={<p>{path.relayer_id} signs and sends this transaction now. It costs a fee.</p>}
              run={(key) =>
                client.post(`${base}/transactions`, { path, header: { 'Idempotency-Key': key }, body: transaction })
              }
              done="Accepted. The transaction is at the top of the relayer's list."
            />
          )}
        </div>
        {run.error && <Problem>{errorText(run.error)}</Problem>}
        {run.data !== undefined && (
          <section aria-label="Result">
            <h2>Result</h2>
            <pre>{JSON.stringify(run.data, null, 2)}</pre>
          </section>
        )}
      </form>
      <section className="card" aria-label="Code samples">
        <h2>Code samples</h2>
        <p className="hint">The API key is read from the environment variable RELAYER_API_KEY.</p>
        <Sample language="curl" text={curlSample(location.origin, request)} />
        <Sample language="TypeScript" text={typescriptCall(location.origin, request)} />
      </section>
    </div>
  )
}

/** The text may have a megabyte: shows a part of it, and copies all of it. */
const Sample = ({ language, text }: { language: string; text: string }) => (
  <>
    <div className="bar">
      <h3>{language}</h3>
      <button
        type="button"
        aria-label={`Copy the ${language} call`}
        onClick={() => void navigator.clipboard.writeText(text)}
      >
        Copy
      </button>
    </div>
    <pre>
      {text.slice(0, shown_characters)}
      {text.length > shown_characters && '…'}
    </pre>
  </>
)
