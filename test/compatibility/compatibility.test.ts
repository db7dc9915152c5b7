import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/service.ts'
import { breaksBetween, presentFile, releasedFile, unannounced } from './breaks.ts'

interface Schema {
  properties: Record<string, object>
  'x-extensible-one-of': { mapping: Record<string, { $ref: string }> }
  required: string[]
  enum: string[]
  'x-extensible-enum': string[]
}

interface Operation {
  operationId: string
  tags: string[]
  responses: Record<string, unknown>
  parameters: { name: string }[]
}

interface Contract {
  paths: Record<string, Record<string, Operation>>
  webhooks: { event: { post: Operation } }
  components: {
    schemas: Record<string, Schema>
    parameters: Record<string, { schema: { default?: unknown } }>
    responses: Record<string, { headers: object }>
    headers: Record<string, { required?: boolean }>
  }
}

const relayers = '/api/v1/relayers'
const notifications = '/api/v1/notifications'
const schemaOf = ({ components }: Contract, name: string) => components.schemas[name] as Schema
const operationOf = ({ paths }: Contract, method: string) => paths[relayers]?.[method] as Operation

/** Each with what is told of it. */
const breaking: [string, (contract: Contract) => void, RegExp][] = [
  ['a removed member', (its) => void Reflect.deleteProperty(schemaOf(its, 'Relayer').properties, 'name'), /name/],
  ['a narrowed enum', (its) => void schemaOf(its, 'SpeedInput').enum.pop(), /lost values/],
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
  [
    'a removed operation',
    (its) => void Reflect.deleteProperty(its.paths[notifications] ?? {}, 'post'),
    /POST .*notifications.* was removed/,
  ],
  [
    'a member that may be absent now',
    (its) => {
      const schema = schemaOf(its, 'Relayer')
      schema.required = schema.required.filter((name) => name !== 'name')
    },
    /no longer required: `name`/,
  ],
  [
    'a promised operation of the console',
    (its) => Object.assign(operationOf(its, 'get'), { 'x-audience': 'console' }),
    /Audience of `listRelayers`/,
  ],
  [
    'a header of every answer that may be absent now',
    (its) => Object.assign(its.components.headers['X-Request-Id'] ?? {}, { required: false }),
    /Header `X-Request-Id` in every message/,
  ],
  [
    'a header of a webhook that may be absent now',
    (its) => Object.assign(its.webhooks.event.post.parameters[0] ?? {}, { required: false }),
    /in every message/,
  ],
  [
    'a code that is no longer listed',
    (its) => void schemaOf(its, 'FailureCode')['x-extensible-enum'].pop(),
    /Value `outcome_unknown` of `FailureCode`/,
  ],
  [
    'another operationId',
    (its) => Object.assign(operationOf(its, 'get'), { operationId: 'findRelayers' }),
    /listRelayers/,
  ],
  [
    'another tag',
    (its) => Object.assign(operationOf(its, 'get'), { tags: ['Senders'] }),
    /Tag `Relayers` of `listRelayers`/,
  ],
  [
    'another name of a schema',
    (its) => {
      const { schemas } = its.components
      Object.assign(its, JSON.parse(JSON.stringify(its).replaceAll('schemas/ApiKey"', 'schemas/Token"')))
      its.components.schemas = { ...its.components.schemas, Token: schemas.ApiKey as Schema }
      Reflect.deleteProperty(its.components.schemas, 'ApiKey')
    },
    /Schema `ApiKey`/,
  ],
  [
    'another default of a parameter',
    ({ components }) => Object.assign(components.parameters.per_page?.schema ?? {}, { default: 20 }),
    /Default `10` of `per_page`/,
  ],
  [
    'a new parameter before others',
    (its) => void its.paths[notifications]?.get?.parameters.unshift({ name: 'x' }),
    /Parameter `page` as number 1 of `listNotifications`/,
  ],
  [
    'a removed value of an answer',
    (its) => void schemaOf(its, 'TransactionStatus')['x-extensible-enum'].pop(),
    /Value `\w+` of `TransactionStatus`/,
  ],
  [
    'a removed header of the webhook',
    ({ webhooks: { event } }) => void event.post.parameters.shift(),
    /Header `[\w-]+` of a webhook/,
  ],
  [
    'a removed type of event',
    (its) => void Reflect.deleteProperty(schemaOf(its, 'WebhookEvent')['x-extensible-one-of'].mapping, 'test'),
    /Value `test` of the discriminator of `WebhookEvent`/,
  ],
]

const additive: ((contract: Contract) => void)[] = [
  function addTypeOfEvent(its) {
    const { schemas } = its.components
    schemas.LaterEvent = structuredClone(schemas.RelayerEnabledEvent) as Schema
    const { mapping } = schemaOf(its, 'WebhookEvent')['x-extensible-one-of']
    mapping.later = { $ref: '#/components/schemas/LaterEvent' }
  },
  function addMemberOfAnswer(its) {
    Object.assign(schemaOf(its, 'Relayer').properties, { extra: { type: 'string' } })
  },
  function addValueOfAnswer(its) {
    schemaOf(its, 'TransactionStatus')['x-extensible-enum'].push('lost')
  },
  function addOptionalParameter(its) {
    Object.assign(operationOf(its, 'get'), {
      parameters: [...operationOf(its, 'get').parameters, { name: 'x', in: 'query', schema: { type: 'string' } }],
    })
  },
]

/** The last released contract with these changes, compared with it. */
async function breaksOf(changes: ((contract: Contract) => void)[]): Promise<string[]> {
  const contract: Contract = JSON.parse(readFileSync(releasedFile, 'utf8'))
  for (const change of changes) change(contract)
  const file = join(temporaryFolder(), 'openapi.json')
  writeFileSync(file, JSON.stringify(contract))
  return breaksBetween(releasedFile, file)
}

let found: Promise<string[]> | undefined

test.each(breaking)('finds %s', async (_, _change, expected) => {
  found ??= breaksOf(breaking.map(([, change]) => change))
  expect((await found).join('\n')).toMatch(expected)
})

test('takes additions for what they are', async () => expect(await breaksOf(additive)).toEqual([]))

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
