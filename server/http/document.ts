import type { OperationId } from '../operation.ts'
import { type AmountPlaces, amountPlaces } from './amount-places.ts'
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

/** Where each operation's body has amounts, by method and path. Before the validator puts copies in the places of references. */
export function amountsByOperation({ paths, components }: Document): Map<string, AmountPlaces> {
  return new Map(
    Object.entries(paths).flatMap(([path, item]) =>
      methods.flatMap((method) => {
        const contents = Object.values(item[method]?.requestBody?.content ?? {}) as { schema: object }[]
        const bodies = contents.map(({ schema }) => schema)
        return bodies.length > 0 ? [[`${method} ${path}`, amountPlaces(bodies, components.schemas)] as const] : []
      }),
    ),
  )
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
