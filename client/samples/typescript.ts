import { inspect } from 'node:util'
import { filled, queryOf } from './curl.ts'
import type { ExampleCall } from './operation.ts'

const longestLine = 100

/** The call with the typed client. The API key is in the environment variable RELAYER_API_KEY. */
export function typescriptSample(baseUrl: string, call: ExampleCall): string {
  if (call.answer === 'events') return eventStreamSample(baseUrl, call)
  const { method, path, parameters, body, answer } = call
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
  return `import { createRelayerClient } from '@evm-relayer-service/client'

const client = createRelayerClient({ baseUrl: '${baseUrl}', token: process.env.RELAYER_API_KEY ?? '' })

${statement}
`
}

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

const literal = (value: unknown) =>
  inspect(value, { depth: null, maxArrayLength: null, maxStringLength: null, breakLength: longestLine }).replaceAll(
    '\n',
    '\n  ',
  )
