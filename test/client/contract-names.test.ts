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
