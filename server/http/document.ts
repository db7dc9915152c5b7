import type { OperationId } from '../operation.ts'
import type { Parameter } from './query.ts'

// What the contract's document says of each operation.

export interface ContractOperation {
  operationId: OperationId
  security?: { token?: string[] }[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Record<string, unknown> }
  responses: Record<string, unknown>
}

export interface Document {
  paths: Record<string, Record<string, ContractOperation>>
  components: { parameters: Record<string, Parameter>; schemas: Record<string, object> }
}

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const

/** The properties whose schema is, or may be, an AmountInput. */
export function* amountNames(node: unknown): Generator<string> {
  if (typeof node !== 'object' || node === null) return
  const { properties = {} } = node as { properties?: Record<string, unknown> }
  for (const [name, schema] of Object.entries(properties)) {
    if (JSON.stringify(schema).includes('"#/components/schemas/AmountInput"')) yield name
  }
  for (const child of Object.values(node)) yield* amountNames(child)
}

export const dereference = (parameter: Parameter, parameters: Record<string, Parameter>): Parameter =>
  parameter.$ref ? (parameters[parameter.$ref.split('/').at(-1) as string] as Parameter) : parameter

export function headerReader(parameters: Parameter[]) {
  const names = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name)
  return (headers: Record<string, unknown>) =>
    Object.fromEntries(names.map((name) => [name, headers[name.toLowerCase()]]))
}

export function operationsOf(document: Document) {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method]
      const response = (other: Document) => other.paths[path]?.[method]?.responses ?? {}
      return operation ? [{ path, method, operation, response }] : []
    }),
  )
}

/** A check that fails a handler's author at the start, not a caller later. */
export function soleSuccess({ operationId, responses }: ContractOperation): number {
  const successes = Object.keys(responses).filter((status) => status.startsWith('2'))
  if (successes.length !== 1)
    throw new Error(`${operationId} must declare exactly one success, not ${successes.length}`)
  if (!('default' in responses)) throw new Error(`${operationId} must declare its default failure`)
  return Number(successes[0])
}

/** An operation that forgets to name a role would be open to every key. */
export function rolesOf({ operationId, security }: ContractOperation): string[] {
  if (security?.length === 0) return []
  const roles = security?.[0]?.token ?? []
  if (roles.length === 0) throw new Error(`${operationId} must name the roles that it asks for`)
  return roles
}

/** Which of the contract's responses each operation names, before the validator puts copies in their places. */
export function answerReferences(document: Document): Map<string, Record<string, string>> {
  return new Map(
    operationsOf(document).map(({ path, method, operation }) => {
      const named = Object.entries(operation.responses as Record<string, { $ref?: string }>)
      return [
        `${method} ${path}`,
        Object.fromEntries(named.flatMap(([status, { $ref }]) => ($ref ? [[status, $ref]] : []))),
      ]
    }),
  )
}
