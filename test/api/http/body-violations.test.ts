import { expect, test } from 'vitest'
import { readContract } from '../../../server/api/http/contract.ts'
import { BodyViolations } from '../../../server/api/http/violation.ts'

const document = readContract()
const checks = new BodyViolations(document)
const violations = (name: string, body: unknown) =>
  checks.of(document.components.schemas[name] as object, body).map(({ path, message }) => `${path} ${message}`)

const wei = 'must be a whole number of wei as a decimal string, for example "1000000000000000"'
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
      '/body/config/key_idd is not a known property; known: region, key_id, endpoint',
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
    { max_gas: 21_000, max_fee: '1' },
    ['/body/relayer_id give exactly one of relayer_id and pool_id', '/body/max_fee_per_day is required'],
  ],
  ['one of a list', 'RpcUrlInput', 5, ['/body must be a string or an object']],
])('%s', (_name, schema, body, expected) => {
  expect(violations(schema, body)).toEqual(expected)
})

test('reports the alternative with the fewest violations of a nested choice', () => {
  const body = { domain: { chainId: 'abc' }, types: {}, primaryType: 'A', message: {} }
  expect(violations('TypedData', body)).toContain(
    '/body/domain/chainId must be a whole number in decimal digits, or in hexadecimal digits with 0x',
  )
})

test('reports no violations of a valid body', () => {
  expect(violations('CreateSignerRequest', { type: 'vault', config: { ...vault, token: 't' } })).toEqual([])
})
