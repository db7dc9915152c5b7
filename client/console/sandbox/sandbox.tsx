import { useMutation } from '@tanstack/react-query'
import { FlaskConical } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Link } from 'wouter'
import type { Relayer, SendTransactionRequest } from '../../index.ts'
import { curlSample } from '../../samples/curl.ts'
import type { ExampleCall } from '../../samples/operation.ts'
import { Action, Faults, useFaults } from '../components/action.tsx'
import { AddressField } from '../components/entries.tsx'
import { EmptyState, Loaded } from '../components/feedback.tsx'
import { Field, Lines, RelayerField } from '../components/fields.tsx'
import { Segments } from '../components/filters.tsx'
import { Heading } from '../components/page.tsx'
import { CopyButton, Figures, TransactionLink } from '../components/values.tsx'
import { type Bind, given, useForm } from '../data/form.ts'
import { amount, count, exactly, weiOf } from '../data/format.ts'
import { useGet } from '../data/get.ts'
import { paths } from '../data/paths.ts'
import { usePressable } from '../data/press-button.ts'
import { useNetworks, useRelayers, useSymbols } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { CreateRelayer } from '../relayers/create-relayer.tsx'
import { SubmissionFields, submissionOf, submissionStart, submissionText } from '../transactions/submission.tsx'

const base = '/api/v1/relayers/{relayer_id}'
const kinds = { sign: 'Sign a message', test: 'Simulate or send' } as const
type Kind = keyof typeof kinds

/** `function`: one of the receiver, with its arguments, in the place of the data. */
const blank = { message: 'Hello', to: '', value: '0', data: '', function: '', args: '', gas_limit: '' }

/** Signs, simulates and sends, and shows the same request as curl and as TypeScript. */
export function Sandbox({ params }: { params: { relayer_id?: string; transaction_id?: string } }) {
  const { relayer_id = '', transaction_id } = params
  const relayers = useRelayers()
  const [isHeld, hold] = useState(false)
  const model = useGet(
    `${base}/transactions/{transaction_id}`,
    { path: { relayer_id, transaction_id: transaction_id ?? '' } },
    { isEnabled: transaction_id !== undefined, scope: 'read' },
  )
  return (
    <>
      <Heading name="Sandbox" />
      {isHeld || relayers.data?.length === 0 ? (
        <EmptyState icon={FlaskConical} title="No relayers yet" action={<CreateRelayer hold={hold} />}>
          The sandbox signs, simulates and sends with a relayer.
        </EmptyState>
      ) : transaction_id === undefined ? (
        <SandboxForm key={relayer_id} chosen={relayer_id} start={blank} />
      ) : (
        <Loaded query={model}>
          {({ to, value, data }) => (
            <SandboxForm
              chosen={relayer_id}
              start={{ ...blank, to: to ?? '', value: exactly(value), data: data ?? '' }}
            />
          )}
        </Loaded>
      )}
    </>
  )
}

interface SandboxFormProps {
  chosen: string
  start: typeof blank
}

function SandboxForm({ chosen, start }: SandboxFormProps) {
  const { client, may } = useSession()
  const relayers = useRelayers()
  const symbolOf = useSymbols()
  const networks = useNetworks()
  const [relayerId, setRelayer] = useState(chosen)
  const { values, bind } = useForm(start)
  const [kind, setKind] = useState<Kind>(may('send') && (chosen !== '' || !may('sign')) ? 'test' : 'sign')
  usePressable(`Send from ${chosen}`, () => setKind('test'))
  const way = useForm(submissionStart)
  const submission = submissionOf(way.values)

  // Of no relayer by itself: a signature is asked for by name.
  const path = { relayer_id: relayerId.trim() }
  const chosenRelayer = relayers.data?.find(({ id }) => id === path.relayer_id)
  const symbol = symbolOf(chosenRelayer?.network)
  const usual = networks.data?.find(({ name }) => name === chosenRelayer?.network)?.submission
  const asUsual = `default of the network${usual ? `: ${submissionText(usual)}` : ''}`
  const text = (name: keyof typeof blank) => values[name].trim()
  const others = {
    value: weiOf(values.value) ?? '0',
    ...(text('gas_limit') !== '' && { gas_limit: Number(text('gas_limit')) }),
    ...(submission && { submission }),
  }
  const transaction: SendTransactionRequest =
    text('function') === ''
      ? { ...given({ to: text('to'), data: text('data') }), ...others }
      : { to: text('to'), call: { function: text('function'), args: argumentsOf(values) }, ...others }
  const message = { message: values.message }
  const request: ExampleCall = {
    method: 'post',
    path: kind === 'sign' ? `${base}/sign` : `${base}/transactions/dry-run`,
    parameters: { path: { relayer_id: path.relayer_id || 'RELAYER_ID' }, query: {}, header: {} },
    body: kind === 'sign' ? message : transaction,
    needs_token: true,
    answer: 'data',
  }
  const { form: ref, faults, check, blame, forgive } = useFaults()
  const run = useMutation({
    onError: blame,
    mutationFn: (): Promise<unknown> =>
      kind === 'sign'
        ? client.signing.signMessage(path.relayer_id, message)
        : client.transactions.dryRun(path.relayer_id, transaction),
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
          values={(Object.keys(kinds) as Kind[]).filter((one) => may(one === 'sign' ? 'sign' : 'send'))}
          texts={kinds}
          value={kind}
          choose={setKind}
        />
        <RelayerField value={relayerId} set={setRelayer} />
        {kind === 'sign' ? (
          <Lines label="Message" spellCheck rows={4} {...bind('message')} />
        ) : (
          <>
            <TransactionFields values={values} bind={bind} symbol={symbol} />
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
              {...path}
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

/** As `weiOf` reads it. */
const amountPattern = '[0-9]+([.][0-9]{1,18})?'

interface TransactionFieldsProps {
  values: typeof blank
  bind: Bind<keyof typeof blank>
  symbol: string
}

/** The content of a transaction. `symbol`: the unit of its value. */
const TransactionFields = ({ values, bind, symbol }: TransactionFieldsProps) => (
  <>
    <Field kind="id" label="To (empty: creates a contract)" {...bind('to')} />
    <Field kind="amount" label={`Value in ${symbol}`} required pattern={amountPattern} {...bind('value')} />
    <Field kind="id" label="Function (optional)" placeholder="transfer(address,uint256)" {...bind('function')} />
    {values.function.trim() === '' ? (
      <Lines label="Data" rows={3} {...bind('data')} />
    ) : (
      <Arguments inputs={inputsOf(values.function)} {...bind('args')} />
    )}
    <Field kind="whole" label="Gas limit (empty: estimated)" {...bind('gas_limit')} />
  </>
)

/** A field for each argument. Their text has a line for each. */
const Arguments = ({ inputs, value, onChange }: { inputs: string[] } & ReturnType<Bind<'args'>>) =>
  inputs.map((input, index) => {
    const lines = inputs.map((_, place) => value.split('\n')[place] ?? '')
    const its = {
      label: `Argument ${index + 1}: ${input}${/[[(]/.test(input) ? ', as JSON' : ''}`,
      value: lines[index] ?? '',
      onChange: ({ target }: { target: { value: string } }) =>
        onChange({ target: { value: lines.with(index, target.value).join('\n') } }),
    }
    return /^address\b(?!\[)/.test(input) ? (
      <AddressField key={its.label} {...its} />
    ) : (
      <Field key={its.label} kind="id" {...its} />
    )
  })

/** The inputs of a function as it is written: `transfer(address,uint256)` has two. */
function inputsOf(written: string): string[] {
  const inputs: string[] = []
  let depth = 0
  for (const character of written.slice(written.indexOf('(') + 1).replace(/\)[^)]*$/, '')) {
    depth += character === '(' ? 1 : character === ')' ? -1 : 0
    if (inputs.length === 0 || (character === ',' && depth === 0)) inputs.push('')
    if (character !== ',' || depth > 0) inputs.push(`${inputs.pop()}${character}`)
  }
  return written.includes('(') ? inputs.map((input) => input.trim()) : []
}

interface SendItProps {
  relayer_id: string
  relayer: Relayer | undefined
  transaction: SendTransactionRequest
  symbol: string
  asUsual: string
  isReady(): boolean
}

/** Sends the transaction of the sandbox, after it showed what is sent. `asUsual`: the submission of one that names none. */
function SendIt({ relayer_id, relayer, transaction, symbol, asUsual, isReady }: SendItProps) {
  const { to, value = '0', data, call, submission } = transaction
  return (
    <Action
      label="Send it"
      tone="danger"
      isReady={isReady}
      effect={
        <>
          <p>This signs and sends it now, and costs a fee.</p>
          <Figures
            isWide
            of={{
              From: `${relayer_id} (${relayer?.address ?? 'unknown address'})`,
              Network: relayer?.network ?? 'unknown',
              To: to ?? 'nobody: it creates a contract',
              Value: amount((value ?? 0).toString(), symbol),
              Submission: submission ? submissionText(submission) : asUsual,
              Calls: call && `${call.function} with ${JSON.stringify(call.args)}`,
              Data: !call && bytesOf(data ?? ''),
            }}
          />
        </>
      }
      run={async (client, key) => {
        const header = { 'Idempotency-Key': key }
        const path = { relayer_id }
        return (await client.post('/api/v1/relayers/{relayer_id}/transactions', { path, header, body: transaction }))
          .data
      }}
      done={(sent) => (
        <>
          <TransactionLink {...sent} /> is accepted. See <Link to={paths.relayer(relayer_id)}>all of {relayer_id}</Link>
          .
        </>
      )}
    />
  )
}

const bytesOf = (data: string): string => {
  const digits = data.replace(/^0x/, '')
  return digits === '' ? 'none' : `${count(digits.length / 2)} bytes (${digits.slice(0, 8)}…)`
}

const shownCharacters = 4_000

/** A request as curl and as TypeScript. */
const Samples = ({ request }: { request: ExampleCall }) => (
  <section className="card samples" aria-label="Code samples">
    <h2>Code samples</h2>
    <p className="hint">The API key is read from the environment variable RELAYER_API_KEY.</p>
    <Sample language="curl" text={curlSample(location.origin, request)} />
    <Sample language="TypeScript" text={typescriptCall(location.origin, request)} />
  </section>
)

/** The text may have a megabyte: shows a part of it, and copies all of it. */
const Sample = ({ language, text }: { language: string; text: string }) => (
  <>
    <div className="bar">
      <h3>{language}</h3>
      <CopyButton text={text} label={`Copy the ${language} call`} />
    </div>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by keyboard too */}
    <pre tabIndex={0}>
      {text.slice(0, shownCharacters)}
      {text.length > shownCharacters && '…'}
    </pre>
  </>
)

/** The request as a call of the typed client, like the samples of the reference. */
const typescriptCall = (baseUrl: string, { method, path, parameters, body }: ExampleCall): string =>
  `import { createRelayerClient } from '@evm-relayer-service/client'

const client = createRelayerClient({
  baseUrl: '${baseUrl}',
  token: process.env.RELAYER_API_KEY ?? '',
})

const { data } = await client.${method}(
  '${path}',
  ${JSON.stringify({ path: parameters.path, body }, null, 2).replaceAll('\n', '\n  ')},
)
console.log(data)
`

/** Numbers stay texts, so that none loses digits. */
const argumentsOf = ({ function: written, args }: typeof blank): unknown[] =>
  inputsOf(written).map((_, index) => {
    const line = (args.split('\n')[index] ?? '').trim()
    return /^(?:\[|\{|true$|false$)/.test(line) ? fromJson(line) : line
  })

/** What is no JSON is left to the service, which says what it expects. */
function fromJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return line
  }
}
