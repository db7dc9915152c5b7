import { createHash } from 'node:crypto'
import { TypedDataEncoder, verifyTypedData } from 'ethers'
import fc, { type Arbitrary } from 'fast-check'
import { expect, test } from 'vitest'
import type { SignTypedDataRequest } from '../../generated/openapi.ts'
import { hashTypedData } from '../../server/domain/encoding/typed-data.ts'
import { failing } from '../support/failure.ts'
import { cow, createRelayer, relayerOf } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'

const fullPath = '/api/v1/relayers/{relayer_id}/sign-typed-data/full'
const hashesPath = '/api/v1/relayers/{relayer_id}/sign-typed-data'

// EIP-712, "Test Cases": Example.js.
const mail: SignTypedDataRequest = {
  types: {
    EIP712Domain: [
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
      { name: 'chainId', type: 'uint256' },
      { name: 'verifyingContract', type: 'address' },
    ],
    Person: [
      { name: 'name', type: 'string' },
      { name: 'wallet', type: 'address' },
    ],
    Mail: [
      { name: 'from', type: 'Person' },
      { name: 'to', type: 'Person' },
      { name: 'contents', type: 'string' },
    ],
  },
  primaryType: 'Mail',
  domain: {
    name: 'Ether Mail',
    version: '1',
    chainId: 1,
    verifyingContract: '0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC',
  },
  message: {
    from: { name: 'Cow', wallet: '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826' },
    to: { name: 'Bob', wallet: '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB' },
    contents: 'Hello, Bob!',
  },
}
const mailSeparator = '0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f'
const mailSig =
  '0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b915621c'

test('hashes and signs the Mail example to the published values', async () => {
  const { domain_separator, struct_hash, chain_id } = hashTypedData(mail)
  expect(`0x${domain_separator.toString('hex')}`).toBe(mailSeparator)
  expect(struct_hash.toString('hex')).toBe('c52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e')
  expect(chain_id).toBe(1n)

  const { client } = await startTestService()
  const { id: relayerId } = await relayerOf(client, cow)
  const sign = (body: SignTypedDataRequest) => client.post(fullPath, { path: { relayer_id: relayerId }, body })
  const place = '/body/domain/chainId'
  await expect(sign(mail)).rejects.toMatchObject({
    status: 400,
    details: [{ path: place, message: "chain id must be 31337, as the relayer's network has it; it is 1" }],
  })
  const policies = { allowed_domain_separators: [mailSeparator.slice(2).toUpperCase()] }
  await client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayerId }, body: { policies } })
  expect((await sign(mail)).data.sig).toBe(mailSig)
})

test('gives typed data in full and by its hashes the same signature, which recovers to the relayer', async () => {
  const { client } = await startTestService()
  const { id: relayerId, address } = await createRelayer(client)
  const types = {
    Order: [
      { name: 'amount', type: 'uint256' },
      { name: 'ids', type: 'bytes4[2][]' },
    ],
  }
  const domain = { chainId: '0x7a69', salt: `0x${'ab'.repeat(32)}` }
  const message = { amount: (2n ** 256n - 1n).toString(), ids: [['0x01020304', '0xffffffff']] }
  const body: SignTypedDataRequest = { types, primaryType: 'Order', domain, message }
  const { data } = await client.post(fullPath, { path: { relayer_id: relayerId }, body })
  expect(verifyTypedData(domain, types, message, data.sig).toLowerCase()).toBe(address)
  const hashes = {
    domain_separator: TypedDataEncoder.hashDomain(domain),
    hash_struct_message: TypedDataEncoder.hashStruct('Order', types, message),
  }
  expect((await client.post(hashesPath, { path: { relayer_id: relayerId }, body: hashes })).data).toEqual(data)
})

type Shape = { type: string; value: Arbitrary<unknown>; structs: Record<string, { name: string; type: string }[]> }

const hex = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)

const atom: Arbitrary<Shape> = fc.oneof(
  fc.tuple(fc.integer({ min: 1, max: 32 }), fc.boolean()).map(([bytes, signed]) => {
    const bits = BigInt(bytes * 8)
    const [min, max] = signed ? [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n] : [0n, 2n ** bits - 1n]
    const value = fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, max, 0n)).map((integer) => {
      const isSafe = integer >= BigInt(Number.MIN_SAFE_INTEGER) && integer <= BigInt(Number.MAX_SAFE_INTEGER)
      return isSafe && integer % 2n === 0n ? Number(integer) : integer.toString()
    })
    return { type: `${signed ? '' : 'u'}int${bits}`, value, structs: {} }
  }),
  fc.integer({ min: 1, max: 32 }).map((length) => ({ type: `bytes${length}`, value: hex(length), structs: {} })),
  fc.constant({ type: 'address', value: hex(20), structs: {} }),
  fc.constant({ type: 'bool', value: fc.boolean(), structs: {} }),
  fc.constant({ type: 'string', value: fc.string({ unit: 'grapheme' }), structs: {} }),
  fc.constant({ type: 'bytes', value: fc.nat(70).chain(hex), structs: {} }),
)

const list = (of: Shape): Arbitrary<Shape> =>
  fc.constantFrom(undefined, 1, 3).map((length) => ({
    ...of,
    type: `${of.type}[${length ?? ''}]`,
    value: fc.array(of.value, { minLength: length ?? 0, maxLength: length ?? 3 }),
  }))

/** The name of a struct is derived from its members, so that two structs with one name are the same. */
const struct = (members: Shape[]): Shape => {
  const own = members.map(({ type }, index) => ({ name: `m${index}`, type }))
  const name = `S${createHash('sha256').update(JSON.stringify(own)).digest('hex').slice(0, 20)}_${members.length}`
  const value = fc.record(Object.fromEntries(members.map((member, index) => [`m${index}`, member.value])), {
    noNullPrototype: true,
  })
  return { type: name, value, structs: Object.assign({ [name]: own }, ...members.map(({ structs }) => structs)) }
}

const structOver = (inner: Arbitrary<Shape>) => fc.array(inner, { minLength: 1, maxLength: 4 }).map(struct)
const withLists = (inner: Arbitrary<Shape>) => fc.oneof(inner, inner.chain(list), inner.chain(list).chain(list))
const first = structOver(withLists(atom))
const second = structOver(withLists(fc.oneof(atom, first)))
const document = structOver(withLists(fc.oneof(atom, first, second)))

test('hashes 500 random documents as ethers does', () => {
  const documents = document.chain(({ type, structs, value }) =>
    value.map((message) => ({
      primaryType: type,
      types: structs,
      message: message as Record<string, unknown>,
      domain: {},
    })),
  )
  fc.assert(
    fc.property(documents, ({ primaryType, types, message }) => {
      const { struct_hash } = hashTypedData({ primaryType, types, message, domain: {} })
      expect(`0x${struct_hash.toString('hex')}`).toBe(TypedDataEncoder.from(types).hashStruct(primaryType, message))
    }),
    { numRuns: 500 },
  )
})

test('accepts a domain with any of its members, in the standard’s order or as declared', () => {
  const whole = {
    salt: `0x${'01'.repeat(32)}`,
    verifyingContract: `0x${'12'.repeat(20)}`,
    chainId: 31_337,
    version: 'v',
    name: 'n',
  }
  const subsets = Array.from({ length: 32 }, (_, bits) =>
    Object.fromEntries(Object.entries(whole).filter((_entry, index) => (bits >> index) & 1)),
  )
  const separator = (domain: SignTypedDataRequest['domain'], EIP712Domain?: { name: string; type: string }[]) => {
    const types = { A: [], ...(EIP712Domain && { EIP712Domain }) }
    return `0x${hashTypedData({ domain, types, primaryType: 'A', message: {} }).domain_separator.toString('hex')}`
  }
  for (const domain of subsets) expect.soft(separator(domain)).toBe(TypedDataEncoder.hashDomain(domain))
  const declared = [
    { name: 'version', type: 'string' },
    { name: 'name', type: 'string' },
  ]
  expect(separator({ name: 'n', version: 'v' }, declared)).toBe(
    TypedDataEncoder.hashStruct('EIP712Domain', { EIP712Domain: declared }, { name: 'n', version: 'v' }),
  )
})

const types = {
  A: [
    { name: 'n', type: 'uint8' },
    { name: 'i', type: 'int16' },
    { name: 'b', type: 'bool' },
    { name: 's', type: 'string' },
    { name: 'a', type: 'address' },
    { name: 'd', type: 'bytes' },
    { name: 'f', type: 'bytes2' },
    { name: 'l', type: 'uint256[2]' },
    { name: 'o', type: 'B[]' },
  ],
  B: [{ name: 'x', type: 'uint256' }],
}
const message = {
  n: 1,
  i: -1,
  b: true,
  s: '',
  a: `0x${'12'.repeat(20)}`,
  d: '0x',
  f: '0xabcd',
  l: [1, '2'],
  o: [{ x: 1 }],
}
const good = { domain: {}, types, primaryType: 'A', message }
const at = (name: string, ...values: unknown[]): [object, string][] =>
  values.map((value) => [{ message: { ...message, [name]: value } }, `/body/message/${name}`])
const typed = (type: string): [object, string] => [{ types: { A: [{ name: 'n', type }] } }, '/body/types/A/0/type']

const wrong: [change: object, path: string][] = [
  ...at('n', -1, 256, '256', 1.5, '1.5', '', ' 1', '0x', '0x100', '1e1', null, true, [], {}, 'x', '9'.repeat(78)),
  ...at('i', 32_768, -32_769, '-32769', '-0x1', '0x8000'),
  ...at('b', 'false', 'true', 0, 1, null, ''),
  ...at('s', 1, null, ['a'], {}),
  ...at(
    'a',
    '',
    '0x12',
    '12'.repeat(20),
    '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD82f',
    '0xcd2A3d9F938E13CD947Ec05AbC7FE734Df8DD826',
    5,
  ),
  ...at('d', '', 'ab', '0xa', '0xzz', [1], null),
  ...at('f', '0xab', '0xabcdef', 'abcd', null),
  ...at('l', [1], [1, 2, 3], {}, '12', null),
  ...at('o', {}, null, 'a'),
  [{ message: { ...message, l: [1, 'x'] } }, '/body/message/l/1'],
  [{ message: { ...message, o: [{ x: 1 }, {}] } }, '/body/message/o/1/x'],
  [{ message: { ...message, o: [{ x: 1 }, null] } }, '/body/message/o/1'],
  [{ message: { ...message, o: [{ x: 1, y: 1 }] } }, '/body/message/o/0'],
  [{ message: { ...message, more: 1 } }, '/body/message'],
  [{ message: { ...message, n: undefined } }, '/body/message/n'],
  [{ message: {} }, '/body/message/n'],
  [{ message: [] }, '/body/message'],
  [{ message: null }, '/body/message'],
  [{ primaryType: 'C' }, '/body/primaryType'],
  [{ primaryType: 'uint256' }, '/body/primaryType'],
  [{ primaryType: 'toString' }, '/body/primaryType'],
  [{ primaryType: '__proto__' }, '/body/primaryType'],
  [{ primaryType: 'EIP712Domain' }, '/body/primaryType'],
  [{ primaryType: 'A[]' }, '/body/primaryType'],
  ...[
    'C',
    'uint',
    'int',
    'uint7',
    'uint264',
    'uint0',
    'uint08',
    'bytes0',
    'bytes33',
    'byte',
    'Uint8',
    'uint8[0]',
    'uint8[01]',
  ].map(typed),
  ...['uint8[', 'uint8[-1]', 'uint8[]x', '', 'uint8 []', '[]', `uint8${'[]'.repeat(9)}`].map(typed),
  [{ types: { A: [{ name: 'a', type: 'A' }] } }, '/body/types/A/0/type'],
  [{ types: { A: [{ name: 'b', type: 'B[]' }], B: [{ name: 'a', type: 'A[]' }] } }, '/body/types/B/0/type'],
  [
    {
      types: {
        A: [
          { name: 'n', type: 'bool' },
          { name: 'n', type: 'bool' },
        ],
      },
    },
    '/body/types/A/1/name',
  ],
  [{ types: { ...types, uint8: [] } }, '/body/types'],
  [{ types: { ...types, 'A B': [] } }, '/body/types'],
  [{ types: { ...types, A: [{ name: 'a b', type: 'bool' }] } }, '/body/types/A/0/name'],
  [{ types: { ...types, A: {} } }, '/body/types/A'],
  [{ types: Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`T${index}`, []])) }, '/body/types'],
  [{ domain: { chainId: 1.5 } }, '/body/domain/chainId'],
  [{ domain: { chainId: '31338' } }, '/body/domain/chainId'],
  [{ domain: { chainId: 2 ** 53 } }, '/body/domain/chainId'],
  [{ domain: { chainId: null } }, '/body/domain/chainId'],
  [{ domain: { verifyingContract: '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD82f' } }, '/body/domain/verifyingContract'],
  [{ domain: { more: 1 } }, '/body/domain/more'],
  [{ domain: {}, types: { ...types, EIP712Domain: [{ name: 'name', type: 'string' }] } }, '/body/domain/name'],
  [{ domain: { name: 'a' }, types: { ...types, EIP712Domain: [] } }, '/body/domain'],
  [{ types: { ...types, EIP712Domain: [{ name: 'name', type: 'bytes' }] } }, '/body/types/EIP712Domain/0'],
  [{ types: { ...types, EIP712Domain: [{ name: 'extra', type: 'string' }] } }, '/body/types/EIP712Domain/0'],
]

test('rejects an invalid document with 400, and names the place', async () => {
  const { raw } = await startTestService()
  const post = async (body: object | string) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await raw('/api/v1/relayers/demo/sign-typed-data/full', { method: 'POST', body: text })
    const { details = [] } = (await answer.json()) as { details?: { path: string }[] }
    return { status: answer.status, paths: details.map(({ path }) => path) }
  }
  expect(await post(good)).toEqual({ status: 200, paths: [] })
  for (const [change, path] of wrong) {
    const { status, paths } = await post({ ...good, ...change })
    expect
      .soft({ status, paths }, JSON.stringify(change))
      .toEqual({ status: 400, paths: expect.arrayContaining([path]) })
  }

  // JSON numbers: a number that is not exact is refused, whatever its name; an exact one is accepted.
  const number = (digits: string, name = 'x') =>
    post(
      `{"domain":{},"primaryType":"B","types":{"B":[{"name":"${name}","type":"uint256"}]},"message":{"${name}":${digits}}}`,
    )
  expect((await number('9007199254740991')).status).toBe(200)
  expect(await number('9007199254740993')).toEqual({ status: 400, paths: ['/body/message/x'] })
  expect(await number('1e30')).toEqual({ status: 400, paths: ['/body/message/x'] })
  expect((await number('1', '__proto__')).status).toBe(200)
})

test('rejects a document that would take too long to hash', () => {
  const chain = Array.from({ length: 50 }, (_, index) => {
    const next = { type: `T${index + 1}[]` }
    const members =
      index === 49
        ? []
        : [
            { name: 'a', ...next },
            { name: 'b', ...next },
          ]
    return [`T${index}`, members] as const
  })
  // 2^49 ways lead to its last type.
  const wide = { domain: {}, types: Object.fromEntries(chain), primaryType: 'T0', message: { a: [], b: [] } }
  expect(hashTypedData(wide).struct_hash).toHaveLength(32)
  const many = (count: number) => ({
    domain: {},
    types: { A: [{ name: 'l', type: 'bool[]' }] },
    primaryType: 'A',
    message: { l: Array(count).fill(true) },
  })
  expect(hashTypedData(many(4_999)).struct_hash).toHaveLength(32)
  const message = 'must have at most 5,000 values together with the domain'
  const details = [expect.objectContaining({ path: '/body/message', message })]
  expect(failing(() => hashTypedData(many(5_000)))).toThrow(expect.objectContaining({ details }))
})
