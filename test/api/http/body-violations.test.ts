import { expect, test } from 'vitest'
import { readContract } from '../../../server/api/http/contract.ts'
import { describeOperations, operationsOf } from '../../../server/api/http/document.ts'
import { RequestViolations } from '../../../server/api/http/violation.ts'

const document = readContract()
const checks = new RequestViolations(document)
const violations = (name: string, body: unknown) =>
  checks.of(document.components.schemas[name] as object, body).map(({ path, message }) => `${path} ${message}`)

const wei =
  'must be a whole number in wei or the smallest unit of a token as a decimal string, for example "1000000000000000"'
const signerTypes =
  '"plain", "keystore", "generated", "aws_kms", "google_cloud_kms", "azure_key_vault", "pkcs11", "remote", "vault"'
const vault = { url: 'https://vault.example.com', path: 'signers/treasury' }

test.each<[string, string, unknown, string[]]>([
  [
    'all missing properties',
    'CreateNetworkRequest',
    { rpc_urls: [] },
    ['name', 'network_type', 'chain_id', 'rpc_urls'],
  ],
])('%s', (_name, schema, body, names) => {
  const found = violations(schema, body)
  for (const name of names) expect(found.filter((line) => line.startsWith(`/body/${name} `))).toHaveLength(1)
})

test.each<[string, string, unknown, string[]]>([
  [
    'an unknown type',
    'CreateSignerRequest',
    { type: 'vult', config: vault },
    [`/body/type must be one of ${signerTypes}`],
  ],
  ['no type', 'CreateSignerRequest', { config: vault }, [`/body/type must be one of ${signerTypes}`]],
  ['not an object', 'CreateSignerRequest', [], ['/body must be an object']],
  [
    'a property of the type that was meant',
    'CreateSignerRequest',
    { type: 'aws_kms', config: { key_idd: 'x' } },
    [
      '/body/config/key_id is required',
      '/body/config/key_idd is not a known property; known: region, key_id, endpoint; did you mean key_id?',
    ],
  ],
  [
    'an alternative within the type',
    'CreateSignerRequest',
    { type: 'vault', config: { ...vault, role_id: 'r' } },
    ['/body/config/secret_id is required'],
  ],
  [
    'a private key',
    'CreateSignerRequest',
    { type: 'plain', config: { key: '0x12' } },
    ['/body/config/key must be 64 hexadecimal digits (32 bytes), with or without 0x'],
  ],
  ['an amount', 'AmountInput', '1.5 ether', [`/body ${wei}`]],
  ['an amount of another type', 'AmountInput', true, ['/body must be a string or an integer']],
  [
    'an amount that may be null',
    'SendTransactionRequest',
    { max_fee_per_gas: '2gwei', gas_price: true },
    [`/body/max_fee_per_gas ${wei}`, '/body/gas_price must be a string or an integer or null'],
  ],
  ['neither of two', 'SignMessageRequest', {}, ['/body/message give exactly one of message and message_hex']],
  [
    'both of two',
    'SignMessageRequest',
    { message: '', message_hex: '0x' },
    ['/body/message_hex give exactly one of message and message_hex'],
  ],
  ['a fault beside the choice', 'SignMessageRequest', { message: 5 }, ['/body/message must be a string']],
  [
    'both, of which neither is needed',
    'SendTransactionRequest',
    { data: '0x', call: { function: 'f()' } },
    ['/body/call give at most one of data and call'],
  ],
  ['what a choice needs', 'SendTransactionRequest', { call: { function: 'f()' } }, ['/body/to is required']],
  [
    'the same in a change',
    'UpdateRelayerRequest',
    { notification_id: null, notification_ids: [] },
    ['/body/notification_ids give at most one of notification_id and notification_ids'],
  ],
  [
    'a choice of what is needed, beside others',
    'CreateSponsorshipRequest',
    { max_gas_per_call: 21_000, max_fee_per_call: '1' },
    ['/body/relayer_id give exactly one of relayer_id and pool_id', '/body/max_fee_per_day is required'],
  ],
  ['one of a list', 'RpcUrlInput', 5, ['/body must be a string or an object']],
])('%s', (_name, schema, body, expected) => {
  expect(violations(schema, body)).toEqual(expected)
})

test('reports the alternative with the fewest violations of a nested choice', () => {
  const body = { domain: { chainId: 'abc' }, types: {}, primaryType: 'A', message: {} }
  expect(violations('SignTypedDataRequest', body)).toContain(
    '/body/domain/chainId must be a whole number in decimal digits, or in hexadecimal digits with 0x',
  )
})

test('reports no violations of a valid body', () => {
  expect(violations('CreateSignerRequest', { type: 'vault', config: { ...vault, token: 't' } })).toEqual([])
})

test('names the member that an unknown one is most like', () => {
  const [told] = violations('SendTransactionRequest', { to: `0x${'1'.repeat(40)}`, valeu: '1' })
  expect(told).toMatch(/^\/body\/valeu is not a known property; known: to, value, .*; did you mean value\?$/)
  expect(violations('SignTypedDataHashesRequest', { types: {} })).toContain(
    '/body/types is not a known property; known: domain_separator, hash_struct_message; a document of typed data goes to /sign-typed-data/full',
  )
})

const operation = (id: string) => describeOperations(document).find((one) => one.id === id) as never
const inRequest = (id: string, request: object) =>
  checks
    .in(operation(id), { params: {}, query: {}, headers: {}, ...request } as never)
    .map(({ path, message }) => `${path} ${message}`)

test.each<[string, object, string]>([
  ['a date', { query: { created_after: '2026-11-27' } }, 'created_after must be a time as RFC 3339 writes it'],
  ['a short hash', { query: { hash: '0x12' } }, 'hash must be 0x and 64 hexadecimal digits (32 bytes)'],
  ['several states in one', { query: { status: ['mined,failed'] } }, 'repeat the parameter for several values'],
  ['metadata without a value', { query: { metadata: 'customer' } }, 'metadata must be a name and a value: name:value'],
])('says what a parameter must be: %s', (_name, request, words) => {
  expect(inRequest('listTransactions', request)).toEqual([expect.stringContaining(words)])
})

/** Every schema in a request, with the place of the operation. */
function schemasIn(node: unknown, seen = new Set<unknown>()): Record<string, unknown>[] {
  if (typeof node !== 'object' || node === null || seen.has(node)) return []
  seen.add(node)
  const { $ref } = node as { $ref?: string }
  if ($ref)
    return schemasIn(
      $ref
        .slice(2)
        .split('/')
        .reduce((its: unknown, name) => (its as never)[name], document),
      seen,
    )
  return [node as Record<string, unknown>, ...Object.values(node).flatMap((child) => schemasIn(child, seen))]
}

test('every pattern and time of a request has words for what it takes', () => {
  const operations = describeOperations(document)
  expect(operations.length).toBeGreaterThan(100)
  for (const { id, parameters, bodySchemas } of operations) {
    const { 'x-tools': tools } =
      operationsOf(document).find(({ operation }) => operation.operationId === id)?.operation ?? {}
    const schemas = schemasIn([parameters.map(({ schema }) => schema), bodySchemas, tools])
    const wordless = schemas.filter(
      (schema) => (typeof schema.pattern === 'string' || schema.format === 'date-time') && !schema['x-expected'],
    )
    expect.soft([id, wordless.map(({ pattern, format }) => pattern ?? format)]).toEqual([id, []])
  }
})
