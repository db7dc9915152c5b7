import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const { components } = JSON.parse(readFileSync(join(import.meta.dirname, '../../generated/openapi.json'), 'utf8')) as {
  components: Record<string, Record<string, unknown>>
}

test('has no two component names that become equal in a generator of another language', () => {
  // oapi-codegen (Go) gives schemas, parameters, responses and bodies one namespace, in camel case.
  const kinds = ['schemas', 'parameters', 'responses', 'requestBodies']
  const names = kinds.flatMap((kind) => Object.keys(components[kind] ?? {}))
  const equal = Map.groupBy(names, (name) => name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase())
  expect([...equal.values()].filter((same) => same.length > 1)).toEqual([])
})

test('names the schema of each item of a list, because generators invent a name otherwise', () => {
  const unnamed: string[] = []
  const walk = (schema: unknown, place: string) => {
    if (typeof schema !== 'object' || schema === null) return
    const { items } = schema as { items?: Record<string, unknown> }
    if (items && ['properties', 'anyOf', 'oneOf'].some((word) => word in items)) unnamed.push(place)
    for (const [name, inner] of Object.entries(schema)) walk(inner, `${place}.${name}`)
  }
  for (const [name, schema] of Object.entries(components.schemas ?? {})) walk(schema, name)
  expect(unnamed).toEqual([])
})

test('names a response for the schema of its data, because Go makes types of both', () => {
  interface Response {
    content?: Record<string, { schema: { $ref?: string } }>
  }
  // Named for the state that they answer: of a failure, of a change that is accepted.
  const others = new Set([
    'Deleted',
    'TransactionRepriced',
    'TransactionAccepted',
    'TransactionsAccepted',
    'SponsoredCallAccepted',
  ])
  const named = Object.entries(components.responses as Record<string, Response>).flatMap(([name, { content }]) => {
    const schema = content?.['application/json']?.schema.$ref?.split('/').at(-1)
    if (!schema?.endsWith('Response') || others.has(name)) return []
    return [[name, schema.replace(/ListResponse$/, 'List').replace(/Response$/, 'Success')]]
  })
  expect(named.length).toBeGreaterThan(40)
  expect(named.filter(([name, wanted]) => name !== wanted)).toEqual([])
})
