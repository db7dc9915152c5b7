import { groupOf, nameOf } from './method-name.ts'

/** An OpenAPI document or a part of it, as far as samples need it. References point into the same document. */
export interface Document {
  paths?: Record<string, PathItem>
  [member: string]: unknown
}

type PathItem = { parameters?: Parameter[] } & Partial<Record<Method, Operation>>

export interface Operation {
  operationId?: string
  description?: string
  tags?: string[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content?: Record<string, Media> }
  responses?: Record<string, Response>
  security?: unknown[]
  'x-codeSamples'?: Sample[]
}

interface Response {
  description?: string
  content?: Record<string, Media>
}

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  example?: unknown
}

interface Schema {
  $ref?: string
  properties?: Record<string, Schema>
  items?: Schema
}

interface Media {
  schema?: Schema
  examples?: Record<string, { value?: unknown }>
}

export interface Sample {
  lang: string
  label: string
  source: string
}

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const
export type Method = (typeof methods)[number]

/** One call of an operation, with the values of its examples. */
export interface ExampleCall {
  /** Its method of the typed client, for example `transactions.send`; undefined: it has none. */
  named?: { name: string; is_list: boolean } | undefined
  method: Method
  /** As in the contract, with `{parameters}`. */
  path: string
  parameters: Record<Parameter['in'], Record<string, string>>
  body?: unknown
  needs_token: boolean
  answer: 'data' | 'json' | 'events' | 'empty'
}

/** Looks up references into the document. */
const resolver =
  (document: Document) =>
  <T>(part: T): T => {
    const reference = (part as { $ref?: string } | undefined)?.$ref
    if (reference === undefined) return part
    const names = reference.replace('#/', '').split('/')
    return resolver(document)(
      names.reduce((at, name) => (at as Record<string, unknown>)[name], document as unknown) as T,
    )
  }

/** A sentence that says what the operation answers when it succeeds. */
export function returnsOf(document: Document, { responses = {} }: Operation): string {
  const resolve = resolver(document)
  const [status = '', response = {}] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? []
  const { description = '', content } = resolve(response)
  const data = resolve(content?.['application/json']?.schema)?.properties?.data
  const nameOf = (schema: Schema) => `\`${schema.$ref?.split('/').at(-1)}\``
  const shape = !data
    ? ''
    : data.items
      ? ` \`data\` is a list of ${nameOf(data.items)}.`
      : ` \`data\` is ${nameOf(data)}.`
  return `**Returns** ${status}: ${description.trim()}${shape}`
}

/** Every operation with its call. Throws when an operation lacks an example that its call needs. */
export function exampleCalls(document: Document): { operation: Operation; call: ExampleCall }[] {
  const resolve = resolver(document)
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method]
      if (!operation) return []
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(resolve)
      const call: ExampleCall = {
        method,
        path,
        parameters: { path: {}, query: {}, header: {} },
        needs_token: operation.security?.length !== 0,
        answer: answerOf(operation, resolve),
        named: namedOf(method, operation, parameters, resolve),
      }
      for (const { name, in: place, required, example } of parameters) {
        // One key is for one request: another operation may not use it again.
        if (name === 'Idempotency-Key') call.parameters[place][name] = `${operation.operationId}-1001`
        else if (example !== undefined) call.parameters[place][name] = String(example)
        else if (required) throw new Error(`${operation.operationId}: parameter ${name} needs an example`)
      }
      const body = bodyOf(operation, resolve)
      return [{ operation, call: body === undefined ? call : { ...call, body } }]
    }),
  )
}

/** The first example of the body. An optional body is left out. */
function bodyOf({ operationId, requestBody }: Operation, resolve: Resolve): unknown {
  const body = resolve(requestBody)
  if (!body?.required) return undefined
  const [example] = Object.values(body.content?.['application/json']?.examples ?? {})
  const value = resolve(example)?.value
  if (value === undefined) throw new Error(`${operationId}: the body needs an example`)
  return value
}

type Resolve = <T>(part: T) => T

/** A list with pages is iterated. JSON-RPC has clients of its own. */
function namedOf(
  method: Method,
  { operationId = '', tags: [tag = ''] = [], responses = {} }: Operation,
  parameters: Parameter[],
  resolve: Resolve,
): ExampleCall['named'] {
  const success = resolve(Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1])
  const schema = resolve(success?.content?.['application/json']?.schema)
  if (!schema || tag === 'JSON-RPC') return undefined
  const group = groupOf(tag)
  const isArray = resolve(schema.properties?.data)?.items !== undefined
  return {
    name: `${group}.${nameOf(group, operationId)}`,
    is_list: method === 'get' && isArray && parameters.some(({ name }) => name === 'page'),
  }
}

function answerOf({ responses = {} }: Operation, resolve: Resolve): ExampleCall['answer'] {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? []
  const content = resolve(success)?.content ?? {}
  if ('text/event-stream' in content) return 'events'
  const json = content['application/json']
  if (!json) return 'empty'
  return 'data' in (resolve(json.schema)?.properties ?? {}) ? 'data' : 'json'
}
