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
