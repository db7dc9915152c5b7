import { inspect } from 'node:util'
import { filled, queryOf } from './curl.ts'
import type { ExampleCall } from './operation.ts'

const longestLine = 100

/** The call with the typed client. The API key is in the environment variable RELAYER_API_KEY. */
export function typescriptSample(baseUrl: string, call: ExampleCall): string {
  if (call.answer === 'events') return eventStreamSample(baseUrl, call)
  const { method, path, parameters, body, answer } = call
  if (call.named && !('Origin' in parameters.header)) return namedSample(baseUrl, call, call.named)
  const input = {
    ...present('path', parameters.path),
    ...present('query', parameters.query),
    ...present('header', parameters.header),
    ...(body !== undefined && { body }),
  }
  const given = Object.keys(input).length === 0 ? '' : `, ${membersOnLines(input)}`
  const request = `await client.${method}('${path}'${given})`
  const statement = {
    data: `const { data } = ${request}\nconsole.log(data)`,
    json: `const response = ${request}\nconsole.log(response)`,
    empty: request,
  }[answer]
  return withClient(baseUrl, statement)
}

/** By the method of the operation: the parameters of the path, the body, and options. `Origin` is no option. */
function namedSample(baseUrl: string, { parameters, body }: ExampleCall, { name, is_list }: Named): string {
  const { 'Idempotency-Key': idempotencyKey, 'If-Match': revision } = parameters.header
  const options = { ...parameters.query, ...(idempotencyKey && { idempotencyKey }), ...(revision && { revision }) }
  const given = [
    ...Object.values(parameters.path).map(inLines),
    ...(body !== undefined ? [inLines(body)] : []),
    ...(Object.keys(options).length > 0 ? [inLines(options)] : []),
  ]
  const call = `client.${name}(${given.join(', ')})`
  const list = `for await (const item of ${call}) console.log(item)`
  return withClient(baseUrl, is_list ? list : `const answer = await ${call}\nconsole.log(answer)`)
}

type Named = NonNullable<ExampleCall['named']>

const withClient = (baseUrl: string, statement: string) =>
  `import { createRelayerClient } from '@evm-relayer-service/client'

const client = createRelayerClient({ baseUrl: '${baseUrl}', token: process.env.RELAYER_API_KEY ?? '' })

${statement}
`

/** The typed client reads whole JSON bodies, so a stream is read with fetch. */
function eventStreamSample(baseUrl: string, { path, parameters }: ExampleCall): string {
  const headers = Object.entries(parameters.header).map(([name, value]) => `, ${inspect(name)}: ${inspect(value)}`)
  return `const response = await fetch('${baseUrl}${filled(path, parameters.path)}${queryOf(parameters.query)}', {
  headers: { Authorization: \`Bearer \${process.env.RELAYER_API_KEY}\`${headers.join('')} },
})
if (!response.ok || !response.body) throw new Error(\`HTTP \${response.status}\`)

const decoder = new TextDecoder()
for await (const bytes of response.body) process.stdout.write(decoder.decode(bytes, { stream: true }))
`
}

const present = (name: string, values: Record<string, string>) =>
  Object.keys(values).length === 0 ? {} : { [name]: values }

/** An object literal with one member per line. */
function membersOnLines(input: object): string {
  const members = Object.entries(input).map(([name, value]) => `  ${name}: ${literal(value)},`)
  return `{\n${members.join('\n')}\n}`
}

const inLines = (value: unknown) =>
  inspect(value, { depth: null, maxArrayLength: null, maxStringLength: null, breakLength: longestLine })

const literal = (value: unknown) => inLines(value).replaceAll('\n', '\n  ')
