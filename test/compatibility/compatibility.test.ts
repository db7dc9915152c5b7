import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/service.ts'
import { breaksBetween, presentFile, releasedFile, unannounced } from './breaks.ts'

interface Schema {
  properties: Record<string, object>
  required: string[]
  enum: string[]
  'x-extensible-enum': string[]
}

interface Contract {
  paths: Record<string, Record<string, { responses: Record<string, unknown>; parameters: object[] }>>
  components: { schemas: Record<string, Schema> }
}

const relayers = '/api/v1/relayers'
const schemaOf = ({ components }: Contract, name: string) => components.schemas[name] as Schema
const operationOf = ({ paths }: Contract, method: string) => paths[relayers]?.[method] as Contract['paths'][''][string]

const changes: [string, (contract: Contract) => void, RegExp | undefined][] = [
  ['a removed member', (its) => void Reflect.deleteProperty(schemaOf(its, 'Relayer').properties, 'name'), /name/],
  ['a narrowed enum', (its) => void schemaOf(its, 'SubmissionModeInput').enum.pop(), /lost values/],
  [
    'a new required member of a request',
    (its) => {
      schemaOf(its, 'CreateApiKeyRequest').properties.extra = { type: 'string' }
      schemaOf(its, 'CreateApiKeyRequest').required.push('extra')
    },
    /became required: `extra`/,
  ],
  [
    'a changed status',
    (its) => {
      const { responses } = operationOf(its, 'post')
      responses['200'] = responses['201']
      Reflect.deleteProperty(responses, '201')
    },
    /`201`/,
  ],
  ['a removed operation', (its) => void Reflect.deleteProperty(its.paths[relayers] ?? {}, 'post'), /was removed/],
  [
    'a member that may be absent now',
    (its) => {
      const schema = schemaOf(its, 'Relayer')
      schema.required = schema.required.filter((name) => name !== 'name')
    },
    /no longer required: `name`/,
  ],
  [
    'a new member of an answer',
    (its) => void Object.assign(schemaOf(its, 'Relayer').properties, { extra: { type: 'string' } }),
    undefined,
  ],
  [
    'a new value of an enum',
    (its) => void schemaOf(its, 'TransactionStatus')['x-extensible-enum'].push('lost'),
    undefined,
  ],
  [
    'a new optional parameter',
    (its) => void operationOf(its, 'get').parameters.push({ name: 'x', in: 'query', schema: { type: 'string' } }),
    undefined,
  ],
]

test.each(changes)('judges %s', async (_, change, expected) => {
  const contract = JSON.parse(readFileSync(releasedFile, 'utf8'))
  change(contract)
  const file = join(temporaryFolder(), 'openapi.json')
  writeFileSync(file, JSON.stringify(contract))
  const breaks = await breaksBetween(releasedFile, file)
  if (expected) expect(breaks.join('\n')).toMatch(expected)
  else expect(breaks).toEqual([])
})

test.each([
  ['no heading', '## 2\n\n- `name` is gone', ['`name` was removed']],
  ['another heading', '## 2\n\n### Contract\n\n- `name` is gone', ['`name` was removed']],
  [
    'the heading of an older version',
    '## 3\n\n## 2\n\n### Breaking changes of the contract\n\n- `name`',
    ['`name` was removed'],
  ],
  ['another name', '## 2\n\n### Breaking changes of the contract\n\n- `id`', ['`name` was removed']],
  ['the heading, and the name', '## 2\n\n### Breaking changes of the contract\n\n- `name` is gone', []],
])('a break with %s in the changelog', (_, changelog, left) => {
  expect(unannounced(['`name` was removed'], `# Changelog\n\n${changelog}\n`)).toEqual(left)
})

/** A break needs a line under its own heading in the changelog, or, while nothing is released, `npm run release-contract`. */
test('breaks nothing of the last released contract that the changelog does not announce', async () => {
  const changelog = readFileSync(join(import.meta.dirname, '..', '..', 'CHANGELOG.md'), 'utf8')
  expect(unannounced(await breaksBetween(releasedFile, presentFile), changelog)).toEqual([])
})
