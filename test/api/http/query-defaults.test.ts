import type { RequestHandler } from 'express'
import pino from 'pino'
import { expect, test } from 'vitest'
import contract from '../../../generated/openapi.json' with { type: 'json' }
import { mountContract, readContract } from '../../../server/api/http/contract.ts'
import type { OperationId, OperationRequest } from '../../../server/domain/operation.ts'

/** The query parameters that every request has, by the type of the handler's request. */
type Certain<Query> = { [Name in keyof Query]-?: object extends Pick<Query, Name> ? never : Name }[keyof Query]
type CertainOfAny = { [Id in OperationId]: Certain<OperationRequest<Id>['query']> }[OperationId]

/** One that is certain and missing here does not compile, nor does one that is here and not certain. */
const certain = {
  page: true,
  per_page: true,
  status: true,
  wait: true,
  wait_seconds: true,
  period: true,
  days: true,
  submission: true,
  exclude_service: true,
  q: true,
} satisfies Record<CertainOfAny, true>
interface Parameter {
  name: string
  in: string
  required?: boolean
  schema: { $ref?: string; default?: unknown }
}

const schemas: Record<string, object> = contract.components.schemas
const resolved = (schema: Parameter['schema']): object =>
  schema.$ref === undefined ? schema : (schemas[schema.$ref.split('/').at(-1) as string] as object)

/** Of each operation: its query parameters. */
function declared(): { id: string; parameters: Parameter[] }[] {
  const shared = contract.components.parameters as Record<string, Parameter>
  return Object.values(contract.paths).flatMap((item) =>
    Object.values(item as Record<string, { operationId?: string; parameters?: (Parameter & { $ref?: string })[] }>)
      .filter(({ operationId }) => operationId !== undefined)
      .map(({ operationId, parameters = [] }) => ({
        id: operationId as string,
        parameters: parameters
          .map((one) => (one.$ref ? (shared[one.$ref.split('/').at(-1) as string] as Parameter) : one))
          .filter((parameter) => parameter.in === 'query')
          .map((parameter) => ({ ...parameter, schema: resolved(parameter.schema) })),
      })),
  )
}

test('types a query parameter as always present exactly when the contract requires it or gives it a default', () => {
  const all = declared().flatMap(({ parameters }) => parameters)
  const isCertain = ({ schema, required }: Parameter) => required === true || 'default' in schema
  const withDefault = all.filter(isCertain).map(({ name }) => name)
  expect(new Set(withDefault)).toEqual(new Set(Object.keys(certain)))
  // The list is by name: a name must not have a default here and none there.
  const without = all.filter((parameter) => !isCertain(parameter)).map(({ name }) => name)
  expect(without.filter((name) => name in certain)).toEqual([])
})

test('passes every default to the handler of a request without a query', async () => {
  const { operations } = await mountContract(readContract(), pino({ level: 'silent' }))
  for (const { id, parameters } of declared()) {
    const operation = operations.find((one) => one.id === id)
    const query: Record<string, unknown> = {}
    const request = { headers: { 'content-type': operation?.mediaTypes[0] }, params: {}, query }
    const check = operation?.checkRequest[0] as RequestHandler
    // The request has no path parameters and no body; the defaults of its query are still set.
    await new Promise<void>((resolve) => check(request as never, {} as never, () => resolve()))
    const defaults = parameters.filter(({ schema }) => 'default' in schema)
    expect({ id, query }).toEqual({
      id,
      query: Object.fromEntries(defaults.map(({ name, schema }) => [name, schema.default])),
    })
  }
})
