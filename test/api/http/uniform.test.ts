import { expect, test } from 'vitest'
import { readContract } from '../../../server/api/http/contract.ts'
import { operationsOf } from '../../../server/api/http/document.ts'
import { RequestViolations } from '../../../server/api/http/violation.ts'
import { createRelayer } from '../../support/resources.ts'
import { startTestService } from '../../support/service.ts'

// What is the same in every operation, so that a caller who knows one knows all.

interface Schema {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  content?: Record<string, { schema: Schema }>
  schema?: Schema
  name?: string
}

const contract = readContract()
const operations = operationsOf(contract).map(({ path, method, operation, shared }) => ({
  path,
  method,
  ...(operation as unknown as {
    operationId: string
    summary: string
    tags: string[]
    description?: string
    'x-audience'?: string
  }),
  query: [...shared, ...(operation.parameters ?? [])].map((one) => lookUp(one as { $ref?: string }).name),
  body: operation.requestBody as Schema | undefined,
  success: lookUp((operation.responses['200'] ?? operation.responses['201'] ?? {}) as Schema),
  statuses: Object.keys(operation.responses),
  responses: operation.responses,
  guarded: operation.security?.length !== 0,
  isBare: 'x-json-rpc' in operation || 'x-bare' in operation,
}))

function lookUp(part: Schema): Schema {
  if (part.$ref === undefined) return part
  const names = part.$ref.split('/').slice(1)
  return lookUp(names.reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], contract) as Schema)
}

const envelopeOf = ({ success }: (typeof operations)[number]): Schema | undefined => {
  const schema = success.content?.['application/json']?.schema
  return schema && lookUp(schema)
}
const dataOf = (operation: (typeof operations)[number]): Schema => lookUp(envelopeOf(operation)?.properties?.data ?? {})
const enveloped = operations.filter((operation) => envelopeOf(operation) && !operation.isBare)

test('counts the operations, whose paths all begin with /api/v1', () => {
  process.stdout.write(`${operations.length} operations\n`)
  expect(operations.length).toBeLessThanOrEqual(114)
  expect(operations.filter(({ path }) => !path.startsWith('/api/v1/'))).toEqual([])
})

test('every answer has the same envelope, and its data is an object, an array or null', () => {
  expect(enveloped.length).toBeGreaterThan(90)
  for (const operation of enveloped) {
    const { properties, required } = envelopeOf(operation) as Schema
    const members = ['success', 'data', 'error', 'pagination']
    expect
      .soft([operation.operationId, Object.keys(properties ?? {}), required])
      .toEqual([operation.operationId, members, members])
    const refOf = (schema: Schema = {}) => schema.$ref?.split('/').at(-1)
    const data = properties?.data
    const named = refOf(data) === undefined ? `${refOf(data?.items)}ListResponse` : `${refOf(data)}Response`
    const envelope = operation.success.content?.['application/json']?.schema
    expect.soft([operation.operationId, refOf(envelope)]).toEqual([operation.operationId, named])
    const types = [dataOf(operation).type ?? []].flat()
    expect
      .soft([operation.operationId, types])
      .toEqual([operation.operationId, [expect.stringMatching(/^(?:object|array|null)$/)]])
  }
})

const verbs: Record<string, RegExp> = {
  get: /^(?:get|list|search|stream)[A-Z]/,
  put: /^replace[A-Z]/,
  patch: /^update[A-Z]/,
  delete: /^(?:delete|cancel)[A-Z]/,
  post: /^(?!(?:get|list|replace|set|update|delete|cancel)[A-Z])[a-z]+[A-Z]/,
}

test('an operation is named by the verb of its method and its object, a list by list, and has one declared tag', () => {
  const tags = (contract as unknown as { tags: { name: string }[] }).tags.map(({ name }) => name)
  for (const operation of operations) {
    const { operationId, method, path } = operation
    expect.soft(operationId).toMatch(verbs[method] as RegExp)
    expect.soft(operationId).toMatch(/^[a-z]+(?:[A-Z][a-z]+)+$/)
    expect.soft(path.replaceAll(/\{[a-z]+(?:_[a-z]+)*\}/g, 'id')).toMatch(/^(?:\/[a-z0-9]+(?:-[a-z]+)*)+\/?$/)
    expect.soft([operationId, operation.tags.map((tag) => tags.includes(tag))]).toEqual([operationId, [true]])
    const isList = method === 'get' && dataOf(operation).type === 'array'
    expect.soft([operationId, /^(?:list|search)/.test(operationId)]).toEqual([operationId, isList])
  }
})

// Bodies that several operations share, or that another protocol names.
const sharedBodies: Record<string, string[]> = {
  SendTransactionRequest: ['dryRunTransaction', 'sendPoolTransaction', 'dryRunPoolTransaction'],
  SendTransactionBatchRequest: ['sendPoolTransactionBatch'],
  ReplaceFundingRequest: ['replaceRelayerFunding', 'replacePoolFunding'],
  JsonRpcRequest: ['callRelayerJsonRpc', 'callPoolJsonRpc', 'callSponsoredJsonRpc'],
  McpRequest: ['callMcp'],
  X402Request: ['verifyPayment', 'settlePayment'],
}

test('a body is named for its operation, and each of several forms of one ends in Request', () => {
  const bodies = operations.flatMap(({ operationId, body }) => {
    const { $ref = '' } = body?.content?.['application/json']?.schema ?? {}
    return body ? [[operationId, $ref.split('/').at(-1) as string] as const] : []
  })
  expect(bodies.length).toBeGreaterThan(40)
  for (const [operationId, name] of bodies) {
    const own = `${operationId[0]?.toUpperCase()}${operationId.slice(1)}Request`
    const isShared = sharedBodies[name]?.includes(operationId) === true
    expect.soft([operationId, name]).toEqual([operationId, isShared ? name : own])
    const forms = (lookUp({ $ref: `#/components/schemas/${name}` }) as { oneOf?: Schema[] }).oneOf ?? []
    expect.soft(forms.filter(({ $ref }) => !$ref?.endsWith('Request'))).toEqual([])
  }
})

test('a summary has the verb of the operationId', () => {
  const verbsOf = operations.map(({ operationId, summary }) => [
    operationId,
    /^[A-Za-z]+/.exec(summary)?.[0].toLowerCase(),
  ])
  expect(verbsOf).toEqual(operations.map(({ operationId }) => [operationId, /^[a-z]+/.exec(operationId)?.[0]]))
})

// Lists that are short, and answered whole.
const whole = ['listNetworkNodes', 'searchResources']

test('every list that is read takes a page, and says which it is', () => {
  const lists = enveloped.filter((operation) => operation.method === 'get' && dataOf(operation).type === 'array')
  expect(lists.length).toBeGreaterThan(15)
  for (const { operationId, query } of lists.filter(({ operationId }) => !whole.includes(operationId)))
    expect.soft([operationId, query.includes('page'), query.includes('per_page')]).toEqual([operationId, true, true])
  const paged = operations.filter(({ query }) => query.includes('page')).map(({ operationId }) => operationId)
  expect(paged.filter((id) => !lists.some(({ operationId }) => operationId === id))).toEqual([])
})

test('every resource says when it was created', () => {
  const creates = new Set(enveloped.map(({ operationId }) => operationId))
  const resources = enveloped.filter(
    ({ operationId: id }) => /^get/.test(id) && creates.has(id.replace(/^get/, 'create')),
  )
  expect(resources.length).toBeGreaterThan(8)
  expect(resources.filter((operation) => !dataOf(operation).required?.includes('created_at'))).toEqual([])
})

test('warnings are objects with a code and a message', () => {
  const schemas = Object.entries(contract.components.schemas as Record<string, Schema & { items?: Schema }>)
  const warned = schemas.flatMap(([name, { properties }]) =>
    properties?.warnings ? [[name, properties.warnings]] : [],
  )
  expect(warned.length).toBeGreaterThan(2)
  for (const [name, list] of warned as [string, Schema][]) {
    const { items = {} } = lookUp(list)
    expect.soft([name, lookUp(items).required?.slice(0, 2)]).toEqual([name, ['code', 'message']])
  }
})

test('times of filters have one name', () => {
  const times = operations.flatMap(({ query }) => query.filter((name) => /after|before|since|until/.test(name ?? '')))
  expect([...new Set(times)].sort()).toEqual(['created_after', 'created_before'])
})

test('every PATCH has one media type, and accepts {}', () => {
  const checks = new RequestViolations(contract)
  const patches = operations.filter(({ method }) => method === 'patch')
  expect(patches.length).toBeGreaterThan(5)
  for (const { operationId, body } of patches) {
    expect.soft([operationId, Object.keys(body?.content ?? {})]).toEqual([operationId, ['application/json']])
    const schema = body?.content?.['application/json']?.schema as object
    expect.soft([operationId, checks.of(schema, {})]).toEqual([operationId, []])
  }
})

test('declares every status that its form can have: the token, the body, the rate limit, the database', () => {
  for (const { operationId, guarded, body, path, statuses } of operations) {
    const own = guarded ? ['400', '401', '403', '429', '503', 'default'] : ['400', 'default']
    const expected = [...own, ...(body ? ['413', '415'] : []), ...(/\{/.test(path) ? ['404'] : [])]
    expect.soft([operationId, expected.filter((status) => !statuses.includes(status))]).toEqual([operationId, []])
  }
})

test('declares the headers of each answer: the id of the request, the rate limit, when to come again, the token', () => {
  for (const { operationId, guarded, responses } of operations)
    for (const [status, response] of Object.entries(responses)) {
      const { headers = {}, content } = lookUp(response as Schema) as Schema & { headers?: Record<string, unknown> }
      const expected = [
        ...['X-Request-Id', ...(guarded ? ['RateLimit', 'RateLimit-Policy'] : [])],
        ...(status === '429' || (guarded && status === '503') ? ['Retry-After'] : []),
        ...(status === '401' ? ['WWW-Authenticate'] : []),
      ]
      const missing = expected.filter((name) => !(name in headers))
      expect.soft([operationId, status, missing]).toEqual([operationId, status, []])
      if (Number(status) < 400) continue
      const { schema = {} } = content?.['application/json'] ?? {}
      expect.soft([operationId, status, schema.$ref]).toEqual([operationId, status, '#/components/schemas/Failure'])
    }
  expect(lookUp({ $ref: '#/components/schemas/Failure' }).required).toContain('code')
})

const headersOf = (response: unknown) => Object.keys((lookUp(response as Schema) as { headers?: object }).headers ?? {})
const idsOf = (list: { operationId: string }[]) => list.map(({ operationId }) => operationId)

// The payload of a payment, and the `request_id` of an MCP tool.
const withOwnKey = new Set(['settlePayment', 'callMcp'])

test('declares Idempotent-Replayed exactly where an Idempotency-Key is taken, or a request has a key of its own', () => {
  const replaying = operations.filter(({ success }) => headersOf(success).includes('Idempotent-Replayed'))
  const keyed = operations.filter(
    ({ query, operationId }) => query.includes('Idempotency-Key') || withOwnKey.has(operationId),
  )
  expect(keyed.length).toBeGreaterThan(9)
  expect(idsOf(replaying)).toEqual(idsOf(keyed))
})

test('declares the 422 of an Idempotency-Key exactly where one is taken, but in JSON-RPC, whose errors have codes', () => {
  const reused = '#/components/responses/Unprocessable'
  const declared = operations.filter(({ responses }) => (responses['422'] as Schema | undefined)?.$ref === reused)
  const keyed = operations.filter(({ query, isBare }) => query.includes('Idempotency-Key') && !isBare)
  expect(keyed.length).toBeGreaterThan(6)
  expect(idsOf(declared)).toEqual(idsOf(keyed))
})

test('declares ETag exactly where the data is a resource with a revision, or holds one beside its token', () => {
  const isRevised = (schema: Schema) => lookUp(schema).properties?.revision !== undefined
  const revised = enveloped.filter((operation) => {
    const { properties = {}, ...data } = dataOf(operation)
    return isRevised({ properties, ...data }) || (properties.token && Object.values(properties).some(isRevised))
  })
  expect(revised.length).toBeGreaterThan(30)
  expect(idsOf(operations.filter(({ success }) => headersOf(success).includes('ETag')))).toEqual(idsOf(revised))
})

test('sends the revision of what is created with its token in ETag', async () => {
  const { client } = await startTestService()
  const key = await client.apiKeys.create({ name: 'key', scopes: ['read'] }).withResponse()
  expect(key.response.headers.get('ETag')).toBe(`"${key.data.api_key.revision}"`)
  const rotated = await client.apiKeys.rotate(key.data.api_key.id, {}).withResponse()
  expect(rotated.response.headers.get('ETag')).toBe(`"${rotated.data.api_key.revision}"`)
})

test('marks what is made for the console, with its promise', () => {
  const marked = operations.filter((operation) => operation['x-audience'] === 'console')
  expect(marked.length).toBeGreaterThan(5)
  for (const { operationId, description = '' } of operations)
    expect
      .soft([
        operationId,
        description.includes('Made for the console: a minor version may change or remove its members'),
      ])
      .toEqual([operationId, marked.some((one) => one.operationId === operationId)])
})

test('a PUT answers 201 where it creates and 200 where it replaces, as the audit trail says', async () => {
  const declared = operations.filter(({ statuses }) => statuses.includes('200') && statuses.includes('201'))
  expect(declared.map(({ operationId }) => operationId)).toEqual(['replaceRelayerFunding', 'replacePoolFunding'])
  for (const { responses } of declared) expect(responses['201']).toEqual(responses['200'])
  const { client } = await startTestService()
  for (const id of ['reserve', 'a']) await createRelayer(client, { id })
  await client.pools.create({ id: 'pool', network: 'local', relayer_ids: ['a'] })
  const amounts = { min_balance: '1', target_balance: '2', max_amount_per_day: '3', max_fee_per_gas: '4' }
  const settings = { treasury_id: 'reserve', ...amounts }
  for (const resource of [client.relayers, client.pools]) {
    const id = resource === client.pools ? 'pool' : 'a'
    const put = async (maxPerDay: string) =>
      (await resource.replaceFunding(id, { ...settings, max_amount_per_day: maxPerDay }).withResponse()).response.status
    expect([await put('3'), await put('4'), await put('4')]).toEqual([201, 200, 200])
    await resource.deleteFunding(id)
    expect(await put('3')).toBe(201)
  }
  const { data } = await client.get('/api/v1/audit', { query: { operation: 'Funding' } })
  expect(data.map(({ http_status }) => http_status).reverse()).toEqual([
    ...[201, 200, 200, 200, 201],
    ...[201, 200, 200, 200, 201],
  ])
})

const unlimited = {
  ...{ max_value: null, max_value_per_day: null, whitelist_receivers: null, allowed_functions: null },
  token_limits: null,
}

test('a PATCH keeps what it does not name, also in the objects of a resource, and null removes a member', async () => {
  const { client } = await startTestService()
  await createRelayer(client, { id: 'a' })
  await client.pools.create({
    ...{ id: 'pool', network: 'local', relayer_ids: ['a'] },
    policies: { max_value: '5', max_value_per_day: '50' },
  })
  const policies = async (change: object) => (await client.pools.update('pool', { policies: change })).policies
  expect(await policies({ max_value: '6' })).toMatchObject({ max_value: '6', max_value_per_day: '50' })
  const left = { ...unlimited, max_value_per_day: '50' }
  expect(await policies({ max_value: null })).toEqual(left)
  const { revision, ...same } = await client.pools.update('pool', {})
  expect(same.policies).toEqual(left)
  expect((await client.pools.update('pool', { policies: null }, { revision })).policies).toEqual(unlimited)
  await client.pools.update('pool', { weights: { a: 7 } })
  expect((await client.pools.update('pool', { weights: {} })).relayers).toMatchObject([{ weight: 7 }])

  const filter = { events: ['transaction_update' as const], statuses: ['confirmed' as const] }
  await client.notifications.create({ id: 'hook', url: 'http://127.0.0.1:9', filter })
  const filtered = async (change: object) => (await client.notifications.update('hook', { filter: change })).filter
  expect(await filtered({ statuses: ['failed'] })).toEqual({ ...filter, statuses: ['failed'] })
  expect(await filtered({ statuses: null })).toEqual({ events: filter.events, statuses: null })
  expect(await filtered({ events: null })).toBeNull()

  const rules = { relayer_id: 'a', max_gas_per_call: 21_000, max_fee_per_call: '1', max_fee_per_day: '1' }
  const created = await client.sponsorships.create({
    id: 'game',
    ...rules,
    user_limits: { max_calls_per_day: 3, max_fee_per_day: '9' },
  })
  expect(created.sponsorship.user_limits).toEqual({ max_calls_per_day: 3, max_fee_per_day: '9' })
  const perUser = async (change: object | null) =>
    (await client.sponsorships.update('game', { user_limits: change })).user_limits
  expect(await perUser({ max_calls_per_day: 4 })).toEqual({ max_calls_per_day: 4, max_fee_per_day: '9' })
  expect(await perUser({ max_fee_per_day: null })).toEqual({ max_calls_per_day: 4, max_fee_per_day: null })
  expect(await perUser(null)).toBeNull()
  expect((await client.sponsorships.update('game', {})).max_gas_per_call).toBe(21_000)
})

test('null in a request that creates or sends is the same as an absent member', async () => {
  const { client } = await startTestService()
  const urls = { network_type: 'evm' as const, chain_id: 31_337, rpc_urls: ['http://127.0.0.1:9'] }
  const network = { symbol: null, average_blocktime_ms: null }
  expect(await client.networks.create({ name: 'other', ...urls, ...network })).toMatchObject(network)
  const relayer = await createRelayer(client, { id: 'a', notification_id: null })
  expect(relayer.notification_ids).toEqual([])
  const pool = { id: 'pool', network: 'local', relayer_ids: ['a'] }
  expect((await client.pools.create({ ...pool, policies: unlimited })).policies).toEqual(unlimited)
  const hook = { id: 'hook', url: 'http://127.0.0.1:9', filter: { events: null, statuses: null } }
  expect((await client.notifications.create(hook)).filter).toBeNull()
  expect((await client.notifications.create({ ...hook, id: 'other', filter: null })).filter).toBeNull()
  const rules = { relayer_id: 'a', max_gas_per_call: 21_000, max_fee_per_call: '1', max_fee_per_day: '1' }
  for (const [id, limits] of Object.entries({ one: null, two: { max_calls_per_day: null, max_fee_per_day: null } }))
    expect((await client.sponsorships.create({ id, ...rules, user_limits: limits })).sponsorship.user_limits).toBeNull()
  const key = { name: 'key', scopes: ['read' as const], relayer_ids: null }
  expect((await client.apiKeys.create(key)).api_key).toMatchObject({ relayer_ids: null, pool_ids: [] })
  // Null would grant all, where an absent member limits the key to the pool.
  const ofPool = { name: 'of pool', scopes: ['read' as const], pool_ids: ['pool'] }
  await expect(client.apiKeys.create({ ...ofPool, relayer_ids: null })).rejects.toMatchObject({ status: 400 })
  expect((await client.apiKeys.create(ofPool)).api_key).toMatchObject({ relayer_ids: [], pool_ids: ['pool'] })
})
