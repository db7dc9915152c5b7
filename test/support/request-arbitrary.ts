import fc, { type Arbitrary } from 'fast-check'
import { badBody, badHeader, badMethod, badPath, badSearch, badToken, type Parts, pathOf } from './bad-parts.ts'
import { type ContractOperation, parametersIn } from './contract.ts'
import { toJson } from './mutation.ts'
import type { Remembered } from './remembered.ts'
import type { SchemaArbitrary } from './schema-arbitrary.ts'

export interface TestRequest extends Omit<Parts, 'path' | 'search'> {
  /** Path and query, as they go over the wire. */
  target: string
}

export interface World {
  schemas: SchemaArbitrary
  remembered: Remembered
  token: string
}

/** Requests to one operation: of ten, four that the contract allows, four with one thing wrong, two absurd throughout. */
export function requestArbitrary(operation: ContractOperation, world: World): Arbitrary<TestRequest> {
  const good = goodParts(operation, world)
  const broken = fc.tuple(good, fc.oneof(...faults(operation, world))).map(([whole, fault]) => exchange(whole, fault))
  const everything = [badPath(operation), badSearch(operation), badHeader, badBody(operation, world.schemas), badMethod]
  const absurd = fc
    .tuple(good, ...everything.map(often))
    .map(([whole, ...parts]) => parts.reduce<Parts>(exchange, whole))

  return fc
    .oneof({ weight: 4, arbitrary: good }, { weight: 4, arbitrary: broken }, { weight: 2, arbitrary: absurd })
    .map(({ path, search, ...rest }) => ({ ...rest, target: search === '' ? path : `${path}?${search}` }))
}

const often = (fault: Arbitrary<Partial<Parts>>) =>
  fc.oneof({ weight: 3, arbitrary: fault }, { weight: 1, arbitrary: fc.constant<Partial<Parts>>({}) })

const exchange = (whole: Parts, part: Partial<Parts>): Parts => ({
  ...whole,
  ...part,
  headers: { ...whole.headers, ...part.headers },
})

function faults(operation: ContractOperation, { schemas, token }: World) {
  const schema = Object.values(operation.bodies)[0]
  const body = schema && schemas.broken(schema).map((value): Partial<Parts> => ({ body: toJson(value) }))
  return [
    ...(body ? [{ weight: 8, arbitrary: body }] : []),
    { weight: 2, arbitrary: badBody(operation, schemas) },
    { weight: parametersIn(operation, 'path').length * 3, arbitrary: badPath(operation) },
    { weight: parametersIn(operation, 'query').length * 3 + 1, arbitrary: badSearch(operation) },
    { weight: 3, arbitrary: badHeader },
    { weight: 2, arbitrary: badToken(token) },
    { weight: 1, arbitrary: badMethod },
  ]
}

function goodParts(operation: ContractOperation, world: World): Arbitrary<Parts> {
  const { schemas, token } = world
  const authorization = { Authorization: `Bearer ${token}` }
  const names = parametersIn(operation, 'query').map(({ name, schema }) => [name, schemas.valid(schema)] as const)
  const base = {
    path: goodPath(operation, world),
    search: fc
      .record<Record<string, unknown>>(Object.fromEntries(names), { requiredKeys: [] })
      .map((values) => new URLSearchParams(values as Record<string, string>).toString()),
    method: fc.constant(operation.method),
    authorized: fc.constant(true),
  }
  const entries = Object.entries(operation.bodies)
  if (entries.length === 0) return fc.record({ ...base, headers: fc.constant(authorization) })

  const examples =
    operation.examples.length > 0 ? [{ weight: 1, arbitrary: fc.constantFrom(...operation.examples) }] : []
  const withBody = entries.map(([mediaType, schema]) => {
    const charset = fc.constantFrom('', '; charset=utf-8', ';charset="UTF-8"')
    const headers = charset.map((parameter) => ({ ...authorization, 'Content-Type': `${mediaType}${parameter}` }))
    const body = fc.oneof({ weight: 19, arbitrary: schemas.valid(schema) }, ...examples).map(toJson)
    return fc.record({ ...base, headers, body })
  })
  return fc.oneof(...withBody)
}

/** Ids that exist most of the time, or nothing but 404 would be tested. */
function goodPath(operation: ContractOperation, { schemas, remembered }: World): Arbitrary<string> {
  const ids = parametersIn(operation, 'path').map(({ name, schema }): Arbitrary<string> => {
    const invented = (schemas.valid(schema) as Arbitrary<string>).map(encodeURIComponent)
    const id = remembered.idOf(name)
    if (!id) return invented
    const [raw, encoded] = [id, id.map(encodeURIComponent)]
    return fc.oneof(
      { weight: 6, arbitrary: raw },
      { weight: 2, arbitrary: encoded },
      { weight: 1, arbitrary: invented },
    )
  })
  return fc.tuple(fc.tuple(...ids), fc.boolean()).map(([given, slash]) => pathOf(operation, given, slash))
}
