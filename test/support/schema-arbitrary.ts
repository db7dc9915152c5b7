import fc, { type Arbitrary } from 'fast-check'
import { resolve, type Schema } from './contract.ts'
import { kinds, mutate, mutation } from './mutation.ts'

export interface Hints {
  /** Values of properties by name, where a schema cannot express them (an id that exists, a secret to search for later). */
  properties: Record<string, Arbitrary<unknown>>
  /** Values of properties that never get another value: URLs that the service calls, and waiting times. */
  always: Record<string, Arbitrary<unknown>>
  /** Schemas to take one time in fifty where the contract offers a choice. */
  rare: string[]
}

export interface SchemaArbitrary {
  /** Values that the schema accepts. */
  valid(schema: Schema, name?: string): Arbitrary<unknown>
  /** A valid value with one to three things wrong (or, now and then, still right). */
  broken(schema: Schema): Arbitrary<unknown>
  /** The body of an example, with the values of `always` put in. */
  example(body: unknown): Arbitrary<unknown>
  /** Whether `always` has a parameter of this name. It is never left out, because its default would apply. */
  isFixed(name: string): boolean
}

export function schemaArbitrary({ properties, always, rare }: Hints): SchemaArbitrary {
  const known = new Map<unknown, Arbitrary<unknown>>()

  const fixed = (name: string) => (Object.hasOwn(always, name) ? always[name] : undefined)

  function valid(schema: Schema, name = ''): Arbitrary<unknown> {
    const only = fixed(name)
    if (only) return only
    const hint = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (hint) return fc.oneof({ weight: 9, arbitrary: hint }, { weight: 1, arbitrary: build(schema) })
    return build(schema)
  }

  function build(reference: Schema): Arbitrary<unknown> {
    const schema = resolve<Schema>(reference)
    const made = known.get(schema) ?? create(schema)
    known.set(schema, made)
    return made
  }

  function create(schema: Schema): Arbitrary<unknown> {
    if ('const' in schema) return fc.constant(schema.const)
    if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
    const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
    if (choices) return fc.oneof(...choices.map((choice) => ({ weight: weightOf(choice), arbitrary: build(choice) })))
    if ('if' in schema) {
      // A list in one branch, and no list in the other (JSON-RPC).
      const list = { ...(schema.if as Schema), ...(schema.then as Schema | undefined) }
      return fc.oneof(build(list), build(schema.else as Schema))
    }
    // The empty schema allows every value.
    if (Object.keys(schema).length === 0) return fc.jsonValue({ maxDepth: 2 })
    const types = [schema.type].flat() as string[]
    return fc.oneof(...types.map((type) => ({ weight: type === 'null' ? 1 : 3, arbitrary: ofType(type, schema) })))
  }

  const weightOf = ({ $ref }: Schema) => (rare.some((name) => String($ref).endsWith(`/${name}`)) ? 1 : 50)

  function ofType(type: string, schema: Schema): Arbitrary<unknown> {
    switch (type) {
      case 'null':
        return fc.constant(null)
      case 'boolean':
        return fc.boolean()
      case 'integer':
      case 'number':
        return numbers(schema)
      case 'string':
        return strings(schema)
      case 'array':
        return arrays(schema)
      case 'object':
        return objects(schema)
    }
    // Fails on keywords that this file does not support, so that no part of the contract is skipped unnoticed.
    throw new Error(`schemaArbitrary reads no such schema: ${JSON.stringify(schema).slice(0, 200)}`)
  }

  function arrays({ items, minItems = 0, maxItems = 1_000 }: Schema) {
    const bounds = { minLength: minItems as number, maxLength: Math.min(maxItems as number, 4) }
    return fc.array(items ? valid(items as Schema) : fc.jsonValue({ maxDepth: 1 }), bounds)
  }

  function objects(schema: Schema): Arbitrary<unknown> {
    const { properties: named = {}, required = [], additionalProperties = true, maxProperties = 20 } = schema
    const members = Object.entries(named as Record<string, Schema>).map(([name, schema]) => [name, valid(schema, name)])
    const options = { requiredKeys: required as never[], noNullPrototype: true } as const
    const its = fc.record(Object.fromEntries(members), options)
    if (additionalProperties === false) return its
    const { propertyNames } = schema
    const keys = propertyNames ? (strings(propertyNames as Schema) as Arbitrary<string>) : fc.string()
    const values =
      typeof additionalProperties === 'object' ? valid(additionalProperties as Schema) : fc.jsonValue({ maxDepth: 2 })
    const others = fc.dictionary(keys, values, { maxKeys: Math.min(maxProperties as number, 5) })
    if (members.length === 0) return others
    const isNamed = (key: string) => Object.hasOwn(named as object, key)
    return fc
      .tuple(others, its)
      .map(([more, own]) => ({ ...Object.fromEntries(Object.entries(more).filter(([key]) => !isNamed(key))), ...own }))
  }

  return {
    valid,
    isFixed: (name) => fixed(name) !== undefined,
    example: (body) =>
      fc.record(
        Object.fromEntries(
          Object.entries(body as object).map(([name, value]) => [name, fixed(name) ?? fc.constant(value)]),
        ),
        { noNullPrototype: true },
      ),
    broken: (schema) =>
      fc
        .tuple(valid(schema), fc.array(mutation(...kinds), { maxLength: 2 }), mutation(...kinds, 'stretch'))
        .map(([value, first, last]) => [...first, last].reduce(mutate, structuredClone(value))),
  }
}

function numbers({ minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER }: Schema) {
  const [min, max] = [minimum as number, maximum as number]
  const bounds = [min, max, min + 1, max - 1].filter((bound) => bound >= min && bound <= max)
  return fc.oneof(
    fc.integer({ min, max }),
    fc.integer({ min, max: Math.min(max, min + 99) }),
    fc.constantFrom(...bounds),
  )
}

function strings({ pattern, format, minLength = 0, maxLength = 100 }: Schema): Arbitrary<string> {
  const [min, max] = [minLength as number, maxLength as number]
  const expression = pattern === undefined ? /^/ : new RegExp(pattern as string, 'u')
  const fits = (text: string) => text.length >= min && text.length <= max && expression.test(text)
  if (format === 'uri') return urls.filter(fits)
  if (format === 'date-time') return fc.oneof({ weight: 3, arbitrary: times }, { weight: 1, arbitrary: oddTimes })
  if (format !== undefined) throw new Error(`schemaArbitrary knows no format ${format}`)
  if (pattern === undefined) {
    const bounds = { minLength: min, maxLength: max, size: 'small' } as const
    return fc.oneof(fc.string({ unit: 'grapheme', ...bounds }), fc.string({ unit: 'binary', ...bounds })).filter(fits)
  }
  // fast-check supports no look-aheads: they are removed here, and the values that they forbid are filtered out.
  return fc.stringMatching(new RegExp((pattern as string).replaceAll(/\(\?![^()]*\)/g, ''))).filter(fits)
}

/** Names under `.invalid` never resolve (RFC 6761), so that a call of such a URL reaches no host. */
const urls = fc
  .webUrl({ withQueryParameters: true, withFragments: true })
  .map((url) => url.replace(/^\w+:\/\/[^/?#]+/, (origin) => `${origin}.invalid`))

const times = fc
  .date({ min: new Date('1970-01-01T00:00:00Z'), max: new Date('2100-01-01T00:00:00Z'), noInvalidDate: true })
  .map((date) => date.toISOString())

/** Leap seconds and other corners of RFC 3339; the last two are not of it, though Ajv takes them for it. */
const oddTimes = fc.constantFrom(
  '2016-12-31T23:59:60Z',
  '2016-12-31T15:59:60-08:00',
  '2026-01-01t00:00:00z',
  '2026-01-01 00:00:00Z',
  '2026-01-01T00:00:00.1Z',
  '2026-01-01T00:00:00.123456789012345Z',
  '2026-01-01T00:00:00+23:59',
  '2026-01-01T00:00:00-00:00',
  '2024-02-29T23:59:59Z',
  '0000-01-01T00:00:00Z',
  '0000-01-01T00:00:00+23:59',
  '9999-12-31T23:59:59-23:59',
  '2026-01-01T00:00:00+01',
  '2026-01-01T00:00:00+0130',
)
