import type { OperationId } from '../operation.ts'
import { type AmountPlaces, amountPlaces } from './amount-places.ts'
import type { Parameter } from './query.ts'

/** The members of generated/openapi.json that are used here. */
export interface ContractDocument {
  info: { version: string }
  paths: Record<string, PathItem>
  components: { parameters: Record<string, Parameter>; schemas: Record<string, object> }
}

type PathItem = { parameters?: Parameter[] } & { [M in Method]?: ContractOperation }

interface ContractOperation {
  operationId: OperationId
  security?: { token?: string[] }[]
  'x-json-rpc'?: boolean
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Record<string, { schema: object }> }
  responses: Record<string, unknown>
}

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** The contract's facts about an operation. */
export interface OperationFacts {
  id: OperationId
  method: Method
  /** As the contract writes it. */
  path: string
  /** The status of its only success with a body. */
  status: number
  /** Whether its success is a stream of events instead of JSON. */
  streams: boolean
  /** Whether it requires a token. */
  guarded: boolean
  /** The roles that it requires of the API key. */
  roles: string[]
  /** Whether one of the roles suffices. */
  anyRole: boolean
  /** Whether it speaks JSON-RPC: then faults of its body are answered as JSON-RPC errors. */
  speaksJsonRpc: boolean
  /** Whether it declares 429 and so counts against the caller's rate limit. */
  limited: boolean
  /** The media types of its body; empty when it takes none. */
  mediaTypes: string[]
  /** The schemas of its body, by media type. */
  bodySchemas: Record<string, object>
  /** Whether its body may be absent, which means an empty object. */
  bodyIsOptional: boolean
  /** The places of amounts in its body; undefined when it takes no body. */
  amounts: AmountPlaces | undefined
  /** Its parameters, references resolved. */
  parameters: Parameter[]
}

const methods: readonly Method[] = ['get', 'post', 'put', 'patch', 'delete']

export function describeOperations(document: ContractDocument): OperationFacts[] {
  return operationsOf(document).map(({ path, method, operation, shared }) => ({
    id: operation.operationId,
    method,
    path,
    status: soleSuccess(operation),
    streams: JSON.stringify(operation.responses['200'] ?? {}).includes('text/event-stream'),
    guarded: operation.security?.length !== 0,
    roles: rolesOf(operation),
    anyRole: (operation.security?.length ?? 1) > 1,
    speaksJsonRpc: operation['x-json-rpc'] === true,
    limited: '429' in operation.responses,
    mediaTypes: Object.keys(operation.requestBody?.content ?? {}),
    bodySchemas: Object.fromEntries(
      Object.entries(operation.requestBody?.content ?? {}).map(([mediaType, { schema }]) => [mediaType, schema]),
    ),
    bodyIsOptional: operation.requestBody !== undefined && operation.requestBody.required !== true,
    amounts: amountsOf(operation, document),
    parameters: [...shared, ...(operation.parameters ?? [])].map((parameter) =>
      dereference(parameter, document.components.parameters),
    ),
  }))
}

/**
 * A copy of the document for the validator, which compiles each check with the whole document. The copy omits prose and examples,
 * and keeps only `default` of the failures, because all failures have one schema.
 */
export function validatorDocument(document: ContractDocument): ContractDocument {
  const { webhooks: _, ...copy } = withoutProse(document) as ContractDocument & { webhooks?: unknown }
  for (const { operation } of operationsOf(copy)) {
    for (const status of Object.keys(operation.responses)) {
      if (!status.startsWith('2') && status !== 'default') delete operation.responses[status]
    }
  }
  // Query values are percent-decoded already, so reserved characters have no meaning in them.
  const parameters = [
    ...Object.values(copy.components.parameters),
    ...operationsOf(copy).flatMap(({ operation, shared }) => [...shared, ...(operation.parameters ?? [])]),
  ]
  for (const parameter of parameters) if (parameter.in === 'query') Object.assign(parameter, { allowReserved: true })
  return copy
}

/** The names of properties and parameters in the contract. */
export function namesIn(document: ContractDocument): ReadonlySet<string> {
  const names = new Set<string>()
  collectNames(document, names)
  return names
}

function collectNames(node: unknown, names: Set<string>): void {
  if (typeof node !== 'object' || node === null) return
  const { properties, name } = node as { properties?: object; name?: unknown }
  for (const property of Object.keys(properties ?? {})) names.add(property)
  if (typeof name === 'string') names.add(name).add(name.toLowerCase())
  for (const child of Object.values(node)) collectNames(child, names)
}

const prose: ReadonlySet<string> = new Set([
  'description',
  'summary',
  'example',
  'examples',
  'x-codeSamples',
  'x-expected',
])

/** `isNames`: the node's keys are names of properties, one of which may be `description`. */
function withoutProse(node: unknown, isNames = false): unknown {
  if (Array.isArray(node)) return node.map((child) => withoutProse(child))
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(
    Object.entries(node)
      .filter(([key]) => isNames || !prose.has(key))
      .map(([key, child]) => [key, withoutProse(child, !isNames && key === 'properties')]),
  )
}

const operationsOf = (document: ContractDocument) =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method]
      return operation ? [{ path, method, operation, shared: item.parameters ?? [] }] : []
    }),
  )

function amountsOf({ requestBody }: ContractOperation, { components }: ContractDocument): AmountPlaces | undefined {
  if (!requestBody) return undefined
  return amountPlaces(
    Object.values(requestBody.content).map(({ schema }) => schema),
    components.schemas,
  )
}

const dereference = (parameter: Parameter, parameters: Record<string, Parameter>): Parameter =>
  parameter.$ref ? (parameters[parameter.$ref.split('/').at(-1) as string] as Parameter) : parameter

/** An error in the contract fails at startup instead of in a request. */
function soleSuccess({ operationId, responses }: ContractOperation): number {
  const successes = Object.keys(responses).filter((status) => status.startsWith('2') && status !== '204')
  if (successes.length !== 1)
    throw new Error(`${operationId} must declare exactly one 2XX response with a body; it declares ${successes.length}`)
  if (!('default' in responses)) throw new Error(`${operationId} must declare the response "default"`)
  return Number(successes[0])
}

/**
 * An operation without roles would be open to every key. Several security requirements are alternatives (OpenAPI 3.1.1, 4.8.30), of
 * one role each.
 */
function rolesOf({ operationId, security }: ContractOperation): string[] {
  if (security?.length === 0) return []
  const alternatives = (security ?? [{}]).map(({ token = [] }) => token)
  const isClear = alternatives.every((roles) => roles.length > 0 && (alternatives.length === 1 || roles.length === 1))
  if (!isClear) throw new Error(`${operationId} must name the roles that it requires, or alternatives of one role each`)
  return alternatives.flat()
}
