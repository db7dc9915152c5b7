import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

test('names in the tables of docs/migration.md only operations of the contract', () => {
  const { paths } = JSON.parse(read('generated/openapi.json')) as { paths: Record<string, object> }
  const known = new Set(
    Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path.replace('/api/v1', '')}`),
    ),
  )
  // The last cell of a row is about this service.
  const cells = read('docs/migration.md')
    .split('\n')
    .flatMap((line) => (line.startsWith('|') ? (line.split('|').at(-2) ?? '') : []))
  const named = cells.flatMap((cell) =>
    [...cell.matchAll(/`([A-Z]+ \/[^`]*)`/g)].map(([, operation = '']) => operation),
  )
  expect(named.length).toBeGreaterThan(40)
  expect(named.filter((operation) => !known.has(operation))).toEqual([])
})
