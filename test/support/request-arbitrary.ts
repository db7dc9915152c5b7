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
  const everything = [
    ...[badPath(operation), badSearch(operation), badHeader(operation)],
    ...[badBody(operation, world.schemas), badMethod],
  ]
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
    { weight: parametersIn(operation, 'header').length * 6 + 3, arbitrary: badHeader(operation) },
    { weight: 2, arbitrary: badToken(token) },
    { weight: 1, arbitrary: badMethod },
  ]
}

function goodParts(operation: ContractOperation, world: World): Arbitrary<Parts> {
  const { schemas, token } = world
  const base = {
    path: goodPath(operation, world),
    search: goodParameters(operation, 'query', schemas).map((values) => searchOf(values)),
    method: fc.constant(operation.method),
    authorized: fc.constant(true),
  }
  const declared = goodParameters(operation, 'header', schemas) as Arbitrary<Record<string, string>>
  const headers = declared.map((values) => ({ ...values, Authorization: `Bearer ${token}` }))
  const entries = Object.entries(operation.bodies)
  if (entries.length === 0) return fc.record({ ...base, headers })

  const examples = operation.examples.map((example) => ({ weight: 3, arbitrary: schemas.example(example) }))
  const withBody = entries.map(([mediaType, schema]) => {
    const charset = fc.constantFrom('', '; charset=utf-8', ';charset="UTF-8"')
    const typed = fc
      .tuple(headers, charset)
      .map(([others, parameter]) => ({ ...others, 'Content-Type': `${mediaType}${parameter}` }))
    const body = fc.oneof({ weight: 17, arbitrary: schemas.valid(schema) }, ...examples).map(toJson)
    return fc.record({ ...base, headers: typed, body })
  })
  return fc.oneof(...withBody)
}

function goodParameters(operation: ContractOperation, place: 'query' | 'header', schemas: SchemaArbitrary) {
  const values = parametersIn(operation, place).map(({ name, schema }) => [name, schemas.valid(schema, name)] as const)
  const requiredKeys = values.map(([name]) => name).filter(schemas.isFixed)
  return fc.record<Record<string, unknown>>(Object.fromEntries(values), { requiredKeys, noNullPrototype: true })
}

/** Repeats the name of a list for each of its values. */
function searchOf(values: Record<string, unknown>): string {
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  )
  return new URLSearchParams(pairs).toString()
}

/** Mostly ids that exist; otherwise only 404 would be tested. */
function goodPath(operation: ContractOperation, { schemas, remembered }: World): Arbitrary<string> {
  const invented = fc.tuple(
    ...parametersIn(operation, 'path').map(({ name, schema }) => schemas.valid(schema, name) as Arbitrary<string>),
  )
  const given = fc
    .tuple(remembered.idsOf(operation), invented, fc.nat(8))
    .map(([known, others, luck]) => others.map((other, index) => (luck === 0 ? other : (known[index] ?? other))))
  // An id of the contract's own may stand in a path as it is, and any character may be encoded.
  const written = fc.tuple(given, fc.nat(3)).map(([ids, how]) => ids.map((id) => encode(id, how === 0)))
  return fc.tuple(written, fc.boolean()).map(([ids, slash]) => pathOf(operation, ids, slash))
}

const encode = (id: string, wholly: boolean): string =>
  wholly || !/^[\w\-.~!$&'()*+,;=:@]+$/.test(id) ? encodeURIComponent(id) : id
