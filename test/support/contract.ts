import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { closeObjects } from '../../server/api/http/validator-document.ts'

/** A JSON schema, as far as the tests read one. */
export type Schema = Record<string, unknown>

export interface Parameter {
  name: string
  in: string
  required?: boolean
  schema: Schema
  /** The JSON pointer of its schema in the contract. */
  pointer: string
}

export interface ContractOperation {
  id: string
  method: string
  path: string
  parameters: Parameter[]
  /** The schema of its request body by media type; empty when it has no body. */
  bodies: Record<string, Schema>
  bodyRequired: boolean
  /** The contract's own example bodies. */
  examples: unknown[]
  guarded: boolean
  /** The roles of which an API key needs one. */
  roles: string[]
  /** Whether one of them suffices. */
  anyRole: boolean
  /** What of it is in the audit trail. */
  audited: 'signature' | 'change' | 'none' | undefined
  /** The statuses it declares, beside `default`. */
  statuses: number[]
}

type RawParameter = Omit<Parameter, 'pointer'> | { $ref: string }

interface RawOperation {
  operationId: string
  security?: { token?: string[] }[]
  'x-audit'?: ContractOperation['audited']
  parameters?: RawParameter[]
  requestBody?: {
    required?: boolean
    content: Record<string, { schema: Schema; examples?: Record<string, { value: unknown }> }>
  }
  responses: Record<string, { $ref: string } | RawResponse>
}

interface RawResponse {
  headers?: Record<string, { $ref: string } | { required?: boolean; schema: Schema }>
  content: Record<string, unknown>
}

interface Document {
  paths: Record<string, Record<string, RawOperation> & { parameters?: RawOperation['parameters'] }>
  webhooks?: unknown
}

const file = join(import.meta.dirname, '..', '..', 'generated', 'openapi.json')

/** Parsed separately, because the server changes its copy. */
export const contract: Document = JSON.parse(readFileSync(file, 'utf8'))

export function resolve<T>(value: T | { $ref: string }): T {
  if (typeof value !== 'object' || value === null || !('$ref' in value)) return value as T
  const names = value.$ref.replace(/^#\//, '').split('/')
  const found = names.reduce<unknown>((at, name) => (at as Record<string, unknown>)?.[unescaped(name)], contract)
  if (found === undefined) throw new Error(`The contract has no ${value.$ref}`)
  return resolve(found as T)
}

const unescaped = (name: string) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')
const escaped = (name: string) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))

const parametersAt = (pointer: string, parameters: RawParameter[] = []): Parameter[] =>
  parameters.map((parameter, index) => ({
    ...resolve<Omit<Parameter, 'pointer'>>(parameter),
    pointer: `${'$ref' in parameter ? parameter.$ref.slice(1) : `${pointer}/parameters/${index}`}/schema`,
  }))

export const operations: ContractOperation[] = Object.entries(contract.paths).flatMap(([path, item]) =>
  ['get', 'put', 'post', 'patch', 'delete'].flatMap((method) => {
    const raw = item[method]
    if (!raw) return []
    const contents = Object.entries(raw.requestBody?.content ?? {})
    return {
      id: raw.operationId,
      method: method.toUpperCase(),
      path,
      parameters: [
        ...parametersAt(`/paths/${escaped(path)}`, item.parameters),
        ...parametersAt(`/paths/${escaped(path)}/${method}`, raw.parameters),
      ],
      bodyRequired: raw.requestBody?.required === true,
      bodies: Object.fromEntries(contents.map(([type, { schema }]) => [type, schema])),
      examples: contents.flatMap(([, { examples }]) => Object.values(examples ?? {}).map(({ value }) => value)),
      guarded: raw.security?.length !== 0,
      roles: (raw.security ?? []).flatMap(({ token = [] }) => token),
      anyRole: (raw.security?.length ?? 0) > 1,
      audited: raw['x-audit'],
      statuses: Object.keys(raw.responses).map(Number).filter(Number.isInteger),
    }
  }),
)

export const parametersIn = ({ parameters }: ContractOperation, place: 'path' | 'query' | 'header'): Parameter[] =>
  parameters.filter((parameter) => parameter.in === place)

/** The operation that a request line belongs to, found without the server's help; static segments win. */
export function operationOf(method: string, target: string): ContractOperation | undefined {
  const path = barePath(target)
  return routes.find(({ operation, pattern }) => operation.method === method && pattern.test(path))?.operation
}

/** The decoded path parameters of a request. */
export function idsIn(operation: ContractOperation, target: string): string[] {
  const route = routes.find((known) => known.operation === operation)
  return (route?.pattern.exec(barePath(target)) ?? []).slice(1).map(decodeURIComponent)
}

const barePath = (target: string) => target.replace(/[?#].*$/s, '')

const parameterCount = ({ path }: ContractOperation) => path.split('{').length

const routes = operations
  .map((operation) => {
    // A path that ends with a slash is served without it too.
    const end = operation.path.endsWith('/') ? '/?' : ''
    const bare = operation.path.replace(/\/$/, '').replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&')
    return { operation, pattern: new RegExp(`^${bare.replaceAll(/\{\w+\}/g, '([^/]+)')}${end}$`, 's') }
  })
  .sort((a, b) => parameterCount(a.operation) - parameterCount(b.operation))

/** Validates by Ajv (draft 2020), independently of the server's code. An answer may have only the members that the contract declares. */
const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true })
addFormats.default(ajv)
ajv.addSchema(closeObjects(contract), 'contract')
const checks = new Map<string, ValidateFunction>()

function check(pointer: string, value: unknown): string | undefined {
  const known = checks.get(pointer) ?? ajv.compile({ $ref: `contract#${pointer}` })
  checks.set(pointer, known)
  return known(value) ? undefined : ajv.errorsText(known.errors)
}

/** Describes how a request body contradicts the contract; undefined: it is valid. */
export function requestFault(operation: ContractOperation, mediaType: string, body: unknown): string | undefined {
  const method = operation.method.toLowerCase()
  return check(`/paths/${escaped(operation.path)}/${method}/requestBody/content/${escaped(mediaType)}/schema`, body)
}

/** Describes which path, query or header parameter is invalid; undefined: all are valid. */
export function parameterFault(
  operation: ContractOperation,
  target: string,
  headers: Record<string, string | string[]>,
): string | undefined {
  const ids = idsIn(operation, target)
  const faults = [
    ...parametersIn(operation, 'path').map((parameter, index) => valueFault(parameter, ids[index])),
    ...parametersIn(operation, 'header').map((parameter) => {
      const given = headers[parameter.name]
      // HTTP joins repeated headers to one list and trims spaces.
      return given === undefined ? undefined : valueFault(parameter, [given].flat().join(', ').trim())
    }),
  ]
  return faults.find((fault) => fault !== undefined) ?? queryFault(operation, target)
}

/** Finds unknown names, repeated names of parameters that are no lists, and values of the wrong type. */
function queryFault(operation: ContractOperation, target: string): string | undefined {
  const given = new URLSearchParams(/\?([^#]*)/s.exec(target)?.[1])
  for (const name of given.keys()) {
    const parameter = parametersIn(operation, 'query').find((known) => known.name === name)
    if (!parameter) return `query ${name} is unknown`
    const { type } = resolve<Schema>(parameter.schema)
    const values = given.getAll(name)
    if (type !== 'array' && values.length > 1) return `query ${name} is given twice`
    if (type === 'integer' && !/^\d+$/.test(String(values))) return `query ${name} is ${values}`
    const value = typed(type, values[0])
    const fault = valueFault(parameter, type === 'array' ? values : value)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** The text of a query as its type reads it. */
function typed(type: unknown, text: string | undefined): unknown {
  if (type === 'boolean' && /^(?:true|false)$/.test(`${text}`)) return text === 'true'
  return type === 'integer' ? Number(text) : text
}

function valueFault({ name, in: place, pointer }: Parameter, value: unknown): string | undefined {
  const fault = check(pointer, value)
  return fault === undefined ? undefined : `${place} ${name} is ${value}: ${fault}`
}

/** What is wrong with an answer; `operation` undefined: no operation was meant, so it has to be a failure. */
export function responseFault(
  operation: ContractOperation | undefined,
  status: number,
  headers: Record<string, unknown>,
  body: unknown,
): string | undefined {
  if (!operation) return check('/components/schemas/Failure', body)
  const raw = contract.paths[operation.path]?.[operation.method.toLowerCase()] as RawOperation
  const key = String(status) in raw.responses ? String(status) : 'default'
  const declared = raw.responses[key] as RawOperation['responses'][string]
  const pointer =
    '$ref' in declared
      ? declared.$ref.slice(1)
      : `/paths/${escaped(operation.path)}/${operation.method.toLowerCase()}/responses/${key}`
  for (const [name, header] of Object.entries(resolve<RawResponse>(declared).headers ?? {})) {
    if (resolve<{ required?: boolean }>(header).required && headers[name.toLowerCase()] === undefined)
      return `no ${name} header`
  }
  return check(`${pointer}/content/application~1json/schema`, body)
}
