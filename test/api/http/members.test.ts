import { expect, test } from 'vitest'
import { readContract } from '../../../server/api/http/contract.ts'

interface Schema {
  $ref?: string
  type?: string | string[]
  format?: string
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

test('a member of an answer is required, or never null', () => {
  const responses = Object.values(contract.paths).flatMap((item) =>
    Object.values(item as Record<string, { responses?: unknown }>).map(({ responses }) => responses),
  )
  const { webhooks } = contract as { webhooks?: unknown }
  const answered = [...referred([responses, webhooks])].filter((ref) => ref.includes('/schemas/'))
  const members = answered.flatMap((Ref) => membersOf(lookUp({ $ref: Ref }), refersTo({ $ref: Ref })))
  expect(members.length).toBeGreaterThan(400)
  expect(members.filter(({ isRequired, schema }) => !isRequired && isNullable(schema)).map(({ name }) => name)).toEqual(
    [],
  )
})

test('the name of a time ends in at, since or until', () => {
  const isTime = (schema: Schema): boolean =>
    schema.format === 'date-time' || [...branchesOf(schema), ...(schema.$ref ? [lookUp(schema)] : [])].some(isTime)
  const members = Object.entries(schemas).flatMap(([name, schema]) => membersOf(schema, name))
  const times = members.filter(({ schema }) => isTime(schema)).map(({ name }) => name)
  expect(times.length).toBeGreaterThan(50)
  expect(times.filter((name) => !/[._](?:at|since|until)$/.test(name))).toEqual([
    'RelayerStatus.last_confirmed_transaction_timestamp',
    'Event.timestamp',
  ])
})

test('every member and parameter has a description', () => {
  const members = Object.entries(schemas).flatMap(([name, schema]) => membersOf(schema, name))
  expect(members.filter(({ schema }) => !isDescribed(schema)).map(({ name }) => name)).toEqual([])
  const parameters = Object.entries(contract.components.parameters as unknown as Record<string, Schema>)
  expect(parameters.filter(([, schema]) => schema.description === undefined)).toEqual([])
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
