import { expect, test } from 'vitest'
import { readContract } from '../../../server/api/http/contract.ts'

interface Schema {
  $ref?: string
  type?: string | string[]
  format?: string
  minimum?: number
  maximum?: number
  enum?: unknown[]
  pattern?: string
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
}

interface Member {
  name: string
  schema: Schema
  isRequired: boolean
}

const contract = readContract()
const { schemas } = contract.components as unknown as { schemas: Record<string, Schema> }
const refersTo = ({ $ref = '' }: Schema) => $ref.split('/').at(-1) as string
const lookUp = (schema: Schema): Schema => (schema.$ref === undefined ? schema : (schemas[refersTo(schema)] as Schema))
const branchesOf = ({ anyOf = [], oneOf = [] }: Schema) => [...anyOf, ...oneOf]

function membersOf(schema: Schema | undefined, name: string): Member[] {
  if (typeof schema !== 'object') return []
  const own = Object.entries(schema.properties ?? {}).flatMap(([member, its]) => [
    { name: `${name}.${member}`, schema: its, isRequired: schema.required?.includes(member) === true },
    ...membersOf(its, `${name}.${member}`),
  ])
  const parts = [schema.items, schema.additionalProperties, ...branchesOf(schema)]
  return [...own, ...parts.flatMap((part) => membersOf(part, name))]
}

const isNullable = (schema: Schema): boolean =>
  [schema.type].flat().includes('null') ||
  [...branchesOf(schema), ...(schema.$ref ? [lookUp(schema)] : [])].some(isNullable)

const isDescribed = (schema: Schema): boolean =>
  schema.description !== undefined ||
  [...branchesOf(schema), ...(schema.$ref ? [lookUp(schema)] : [])].some(isDescribed)

/** The schemas that a part of the contract refers to, by name. */
function referred(part: unknown, found = new Set<string>()): Set<string> {
  if (typeof part !== 'object' || part === null) return found
  const { $ref } = part as { $ref?: unknown }
  if (typeof $ref === 'string' && !found.has($ref)) {
    found.add($ref)
    const names = $ref.split('/').slice(1)
    referred(
      names.reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], contract),
      found,
    )
  }
  for (const child of Object.values(part)) referred(child, found)
  return found
}

/** What may be absent from a response: the policies of a relayer, schemas that have a form of their own, and members. */
const mayBeAbsent = new Set([
  'RelayerPolicies',
  ...[
    'TransactionSuggestionBody',
    'TransactionSuggestionPolicies',
    'JsonRpcAnswer',
    'JsonRpcError',
    'X402Verified',
    'X402Settled',
  ],
  ...['Failure.details', 'Failure.revision', 'Failure.transaction', 'FailureDetail.resets_at'],
  ...['Transaction.warnings', 'Relayer.warnings', 'Network.warnings', 'ApiKey.budget_usage'],
])

test('a member of a response is always present, and null without a value, but the policies of a relayer and what is listed here', () => {
  const responses = Object.values(contract.paths).flatMap((item) =>
    Object.values(item as Record<string, { responses?: unknown }>).map(({ responses }) => responses),
  )
  const { webhooks } = contract as { webhooks?: unknown }
  const answered = [...referred([responses, webhooks])].filter((ref) => ref.includes('/schemas/'))
  const members = answered.flatMap((Ref) => membersOf(lookUp({ $ref: Ref }), refersTo({ $ref: Ref })))
  expect(members.length).toBeGreaterThan(400)
  const optional = members.filter(({ isRequired }) => !isRequired)
  const listed = ({ name }: Member) => [name, name.split('.')[0] as string].filter((its) => mayBeAbsent.has(its))
  expect(optional.filter((member) => listed(member).length === 0).map(({ name }) => name)).toEqual([])
  expect(new Set(optional.flatMap(listed))).toEqual(mayBeAbsent)
  // That of a key without a budget, where it is read at all.
  expect(optional.filter(({ schema }) => isNullable(schema)).map(({ name }) => name)).toEqual(['ApiKey.budget_usage'])
})

test('the name of a time ends in at, since or until', () => {
  const isTime = (schema: Schema): boolean =>
    schema.format === 'date-time' || [...branchesOf(schema), ...(schema.$ref ? [lookUp(schema)] : [])].some(isTime)
  const members = Object.entries(schemas).flatMap(([name, schema]) => membersOf(schema, name))
  const times = members.filter(({ schema }) => isTime(schema)).map(({ name }) => name)
  expect(times.length).toBeGreaterThan(50)
  expect(times.filter((name) => !/[._](?:at|since|until)$|Event\.timestamp$/.test(name))).toEqual([
    'RelayerStatus.last_confirmed_transaction_timestamp',
  ])
})

/** Each integer of the contract that may not fit 32 bits, and has no format that says how many it needs. */
function unsizedIntegers(part: unknown, pointer = ''): string[] {
  if (typeof part !== 'object' || part === null) return []
  const { type, format, minimum, maximum, enum: values } = part as Schema
  const isBounded = values !== undefined || (minimum !== undefined && maximum !== undefined && maximum < 2 ** 31)
  const isSized = format === 'int64' || format === 'int32' || isBounded
  const own = [type].flat().includes('integer') && !isSized ? [pointer] : []
  return [...own, ...Object.entries(part).flatMap(([name, child]) => unsizedIntegers(child, `${pointer}/${name}`))]
}

test('an integer has a maximum below 2^31, or a format: generated clients take 32 bits without one', () => {
  expect(unsizedIntegers(contract)).toEqual([])
})

/** Each pattern of the contract that only JavaScript reads, or an engine with lookarounds. */
function foreignPatterns(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return []
  const { pattern } = part as Schema
  const own = typeof pattern === 'string' && /\(\?[=!<]|\[\^\]/.test(pattern) ? [pattern] : []
  return [...own, ...Object.values(part).flatMap(foreignPatterns)]
}

test('a pattern has no lookaround and no [^], which Python, Go and Rust do not read', () => {
  expect(foreignPatterns(contract)).toEqual([])
})

test('every member and parameter has a description', () => {
  const members = Object.entries(schemas).flatMap(([name, schema]) => membersOf(schema, name))
  expect(members.filter(({ schema }) => !isDescribed(schema)).map(({ name }) => name)).toEqual([])
  const parameters = Object.entries(contract.components.parameters as unknown as Record<string, Schema>)
  expect(parameters.filter(([, schema]) => schema.description === undefined)).toEqual([])
})

/** What says the form of a value, and not what it is of. */
const generic = /^(?:Id|Address|Hash|Amount)(?:Input)?$|^(?:Timestamp|Bytes|Name|NetworkName|HttpUrl)$/

test('an id, address, hash, time, amount and name says in its own words what it is', () => {
  const members = Object.entries(schemas).flatMap(([name, schema]) => membersOf(schema, name))
  const isGeneric = (schema: Schema): boolean => generic.test(refersTo(schema)) || branchesOf(schema).some(isGeneric)
  const found = members.filter(({ schema }) => isGeneric(schema))
  expect(found.length).toBeGreaterThan(200)
  expect(found.filter(({ schema }) => schema.description === undefined).map(({ name }) => name)).toEqual([])
})

test('an amount says its unit: wei, or the smallest unit of a token', () => {
  const members = Object.entries(schemas).flatMap(([name, schema]) => membersOf(schema, name))
  const pattern = schemas.Amount?.pattern
  const isAmount = (schema: Schema): boolean =>
    schema.pattern === pattern ||
    /^Amount(?:Input)?$/.test(refersTo(schema)) ||
    [...branchesOf(schema), ...(schema.items ? [schema.items] : [])].some(isAmount)
  const amounts = members.filter(({ schema }) => isAmount(schema))
  expect(amounts.length).toBeGreaterThan(100)
  expect(
    amounts
      .filter(({ schema: { description = '' } }) => !/\bwei\b|smallest unit/.test(description))
      .map(({ name }) => name),
  ).toEqual([])
})

test('every schema says what it is, but the envelopes', () => {
  const silent = Object.entries(schemas).filter(([name, { description }]) => !description && !name.endsWith('Response'))
  expect(silent.map(([name]) => name)).toEqual([])
})

test('every object with members has a name of its own, which no generator invents', () => {
  const partsOf = ({ properties = {}, items, additionalProperties, ...schema }: Schema): [string, Schema][] => [
    ...Object.entries(properties),
    ...[items, additionalProperties, ...branchesOf(schema)].flatMap((part): [string, Schema][] =>
      part ? [['', part]] : [],
    ),
  ]
  const unnamed = (name: string, schema: Schema): string[] =>
    partsOf(schema).flatMap(([member, part]) =>
      part.properties ? [`${name}.${member}`] : unnamed(`${name}.${member}`, part),
    )
  expect(Object.entries(schemas).flatMap(([name, schema]) => unnamed(name, schema))).toEqual([])
})

const isNull = (schema: Schema): boolean => isNullable(schema) || schema.type === 'null'
/** The objects that a schema may be. */
const objectsOf = (schema: Schema): Schema[] => [lookUp(schema), ...branchesOf(lookUp(schema)).flatMap(objectsOf)]

/** The optional members of a request that refuse null, where the answer has null. */
function refusesNull(request: Schema, answer: Schema, name: string): string[] {
  return objectsOf(request).flatMap((asked) =>
    objectsOf(answer).flatMap((answered) => {
      const inItems = asked.items && answered.items ? refusesNull(asked.items, answered.items, name) : []
      const inMembers = Object.entries(asked.properties ?? {}).flatMap(([member, its]) => {
        const same = answered.properties?.[member]
        if (same === undefined) return []
        const place = `${name}.${member}`
        const isOptional = !asked.required?.includes(member)
        return [...(isOptional && isNull(same) && !isNull(its) ? [place] : []), ...refusesNull(its, same, place)]
      })
      return [...inItems, ...inMembers]
    }),
  )
}

test('a request takes null for every optional member that its answer may have as null', () => {
  interface Operation {
    operationId: string
    requestBody?: { content: Record<string, { schema: Schema }> }
    responses: Record<string, unknown>
  }
  const operations = Object.values(contract.paths)
    .flatMap((item) => Object.values(item as Record<string, Operation>))
    .filter(({ operationId }) => operationId)
  const compared = operations.flatMap(({ operationId, requestBody, responses }) => {
    const body = requestBody?.content['application/json']?.schema
    const answered = Object.entries(responses).flatMap(([status, its]) =>
      status.startsWith('2') ? [...referred(its)] : [],
    )
    const envelopes = answered.filter((ref) => ref.includes('/schemas/')).map((ref) => lookUp({ $ref: ref }))
    const data = envelopes.flatMap(({ properties }) => properties?.data ?? [])
    // A new key is answered beside what it is of.
    const held = data.flatMap((its) => Object.values(lookUp(its).properties ?? {}).filter(({ $ref }) => $ref))
    return body ? [...data, ...held].map((answer) => refusesNull(body, answer, operationId)) : []
  })
  expect(compared.length).toBeGreaterThan(40)
  expect([...new Set(compared.flat())]).toEqual([])
})
