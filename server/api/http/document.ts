import type { OperationId } from '../../domain/operation.ts'

export interface Parameter {
  $ref?: string
  name: string
  in: string
  required?: boolean
  schema?: { type?: string | string[] }
}

/** The members of generated/openapi.json that are used here. */
export interface ContractDocument {
  info: { version: string }
  paths: Record<string, PathItem>
  components: { parameters: Record<string, Parameter>; schemas: Record<string, object> }
}

type PathItem = { parameters?: Parameter[] } & { [M in Method]?: ContractOperation }

/**
 * What of an operation is in the audit trail. `signature`: each one. `change`: each change, in its commit; what changes nothing, as a
 * repeated request, is counted. Refusals of both are counted. `none`: it only reads, or its JSON-RPC methods are operations of their own.
 */
type Audited = 'signature' | 'change' | 'none'

interface ContractOperation {
  operationId: OperationId
  security?: { token?: string[] }[]
  'x-json-rpc'?: boolean
  'x-bare'?: boolean
  'x-audit'?: Audited
  'x-budget'?: 'counted'
  'x-tools'?: Record<string, { description: string; inputSchema: { type: 'object' } }>
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Record<string, { schema: object }> }
  responses: Record<string, unknown>
}

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** The contract's facts about an operation. */
export interface OperationFacts {
  id: OperationId
  method: Method
  /** As the contract writes it. */
  path: string
  /** The status of its success with a body, unless it makes something new where it otherwise replaces. */
  status: number
  /** The status of a success without a body. */
  emptyStatus: number
  /** Whether its success is a stream of events instead of JSON. */
  streams: boolean
  /** Whether it requires a token. */
  guarded: boolean
  /** The roles that it requires of the API key. */
  roles: string[]
  /** Whether one of the roles suffices. */
  anyRole: boolean
  audited: Audited
  /** Whether the budget of an API key counts all that it moves: a key with a budget uses no other one that moves something. */
  isCounted: boolean
  /** Whether it speaks JSON-RPC: then faults of its body are answered as JSON-RPC errors. */
  speaksJsonRpc: boolean
  /** Its success has no envelope. */
  isBare: boolean
  /** Whether it declares 429 and so counts against the caller's rate limit. */
  limited: boolean
  /** Whether it changes the configuration: API keys, relayers, pools, networks, notifications, signers. */
  configures: boolean
  /** The media types of its body; empty when it takes none. */
  mediaTypes: string[]
  /** The schemas of its body, by media type. */
  bodySchemas: Record<string, object>
  /** Whether its body may be absent, which means an empty object. */
  bodyIsOptional: boolean
  /** The places of amounts in its body; undefined when it takes no body. */
  amounts: AmountPlaces | undefined
  /** The members that are given when the resource is created, and that this change of it does not take. */
  fixedMembers: ReadonlySet<string>
  /** Its parameters, references resolved. */
  parameters: Parameter[]
}

/** The scopes and roles that permit changes of the configuration. */
const configuring: ReadonlySet<string> = new Set(['manage', 'notifications', 'administer'])

const methods: readonly Method[] = ['get', 'post', 'put', 'patch', 'delete']

export function describeOperations(document: ContractDocument): OperationFacts[] {
  return operationsOf(document).map(({ path, method, operation, shared }) => ({
    id: operation.operationId,
    method,
    path,
    status: Number(successesOf(operation)[0]),
    emptyStatus: '202' in operation.responses ? 202 : 204,
    streams: JSON.stringify(operation.responses['200'] ?? {}).includes('text/event-stream'),
    guarded: operation.security?.length !== 0,
    roles: rolesOf(operation),
    anyRole: (operation.security?.length ?? 1) > 1,
    audited: auditedOf(operation, method),
    isCounted: operation['x-budget'] === 'counted',
    speaksJsonRpc: operation['x-json-rpc'] === true,
    isBare: operation['x-json-rpc'] === true || operation['x-bare'] === true,
    limited: '429' in operation.responses,
    configures: method !== 'get' && rolesOf(operation).some((role) => configuring.has(role)),
    mediaTypes: Object.keys(operation.requestBody?.content ?? {}),
    bodySchemas: Object.fromEntries(
      Object.entries(operation.requestBody?.content ?? {}).map(([mediaType, { schema }]) => [mediaType, schema]),
    ),
    bodyIsOptional: operation.requestBody !== undefined && operation.requestBody.required !== true,
    amounts: amountsOf(operation, document),
    fixedMembers: new Set(method === 'patch' ? fixedMembersOf(path, operation, document) : []),
    parameters: [...shared, ...(operation.parameters ?? [])].map((parameter) =>
      dereference(parameter, document.components.parameters),
    ),
  }))
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

export const operationsOf = (document: ContractDocument) =>
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

/** The members of a POST to the list that the PATCH of one of its items lacks. */
function fixedMembersOf(path: string, operation: ContractOperation, document: ContractDocument): string[] {
  const creation = document.paths[path.replace(/\/\{\w+\}$/, '')]?.post
  const taken = amountsOf(operation, document)?.properties
  const given = creation && amountsOf(creation, document)?.properties
  return [...(given?.keys() ?? [])].filter((name) => !taken?.has(name))
}

const dereference = (parameter: Parameter, parameters: Record<string, Parameter>): Parameter =>
  parameter.$ref ? (parameters[parameter.$ref.split('/').at(-1) as string] as Parameter) : parameter

/**
 * The statuses of its success with a body: one, or 200 and 201 of a PUT that replaces or creates. Throws, so that an error in the contract
 * fails at startup instead of in a request.
 */
export function successesOf({ operationId, responses }: ContractOperation): [string, ...string[]] {
  const successes = Object.keys(responses).filter((status) => /^2(?!0[24])/.test(status))
  if (!/^(?:\d+|200,201)$/.test(successes.join()))
    throw new Error(
      `${operationId} must declare one 2XX response with a body, or 200 and 201; it declares ${successes}`,
    )
  if (!('default' in responses)) throw new Error(`${operationId} must declare the response "default"`)
  return successes as [string]
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

/** Throws for an operation that says nothing and may change something. */
function auditedOf({ operationId, security, 'x-audit': audited }: ContractOperation, method: Method): Audited {
  const reads = method === 'get' || security?.length === 0
  if (reads === (audited !== undefined)) throw new Error(`${operationId} must declare x-audit, unless it is a GET`)
  return audited ?? 'none'
}

/** The places in a body where its schema declares an amount, or another integer of any size. */
export interface AmountPlaces {
  isAmount: boolean
  properties: Map<string, AmountPlaces>
  items: AmountPlaces | undefined
}

interface Schema {
  $ref?: string
  anyOf?: Schema[]
  oneOf?: Schema[]
  properties?: Record<string, Schema>
  items?: Schema
}

const maxDepth = 30
const amounts = new Set(['AmountInput', 'TypedDataChainId'])

/**
 * `bodies`: the schemas of an operation's body; `schemas`: those of the contract, by name. Throws when a schema contains itself.
 */
export function amountPlaces(bodies: Schema[], schemas: Record<string, Schema>): AmountPlaces {
  const places = noPlaces()
  for (const body of bodies) collect(body, schemas, places, 0)
  return places
}

const noPlaces = (): AmountPlaces => ({ isAmount: false, properties: new Map(), items: undefined })

function collect(schema: Schema, schemas: Record<string, Schema>, into: AmountPlaces, depth: number): void {
  if (depth > maxDepth) throw new Error('A schema of a request body is nested too deep or contains itself')
  const name = /^#\/components\/schemas\/([\w.-]+)$/.exec(schema.$ref ?? '')?.[1]
  if (name !== undefined && amounts.has(name)) into.isAmount = true
  else if (name !== undefined) collect(schemas[name] as Schema, schemas, into, depth + 1)
  for (const branches of [schema.anyOf, schema.oneOf]) {
    for (const branch of branches ?? []) collect(branch, schemas, into, depth + 1)
  }
  for (const [property, its] of Object.entries(schema.properties ?? {})) {
    const place = into.properties.get(property) ?? noPlaces()
    into.properties.set(property, place)
    collect(its, schemas, place, depth + 1)
  }
  if (schema.items) {
    into.items ??= noPlaces()
    collect(schema.items, schemas, into.items, depth + 1)
  }
}
