import { type Input, RLP } from '@ethereumjs/rlp'
import { Signature as EthersSignature, keccak256, SigningKey } from 'ethers/crypto'
import { hashAuthorization } from 'ethers/hash'
import { computeAddress, Transaction, type TransactionLike } from 'ethers/transaction'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { authorityOf, parseUnsigned, readSigned } from '../../server/domain/decoding/transaction.ts'
import { serializeUnsigned } from '../../server/domain/encoding/envelope.ts'
import { formOf, type TransactionType, typeOf } from '../../server/domain/transaction-form.ts'

// Ethers writes the same transactions in its own way.

const hex = (bytes: number | { min: number; max: number }) => {
  const { min, max } = typeof bytes === 'number' ? { min: bytes, max: bytes } : bytes
  return fc.uint8Array({ minLength: min, maxLength: max }).map((value) => `0x${Buffer.from(value).toString('hex')}`)
}
const amount = fc.oneof(fc.bigInt(0n, 300n), fc.bigInt(0n, 2n ** 128n), fc.bigInt(0n, 2n ** 256n - 1n))
const count = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.maxSafeNat())
const to = fc.oneof(hex(20), fc.constant(null))
const data = fc.oneof(
  fc.constant(null),
  hex({ min: 1, max: 2 }),
  hex({ min: 50, max: 60 }),
  hex({ min: 1, max: 70_000 }),
)
/** The tip is at most the whole. */
const fees = fc.tuple(amount, amount).map((pair) => pair.sort((one, other) => (one < other ? -1 : 1)))
const prices = fc.oneof(
  amount.map((gasPrice) => ({ kind: 'legacy' as const, gas_price: gasPrice })),
  fees.map(([maxPriorityFeePerGas, maxFeePerGas]) => ({
    kind: 'eip1559' as const,
    max_fee_per_gas: maxFeePerGas,
    max_priority_fee_per_gas: maxPriorityFeePerGas,
  })),
)
const access = fc.array(fc.record({ address: hex(20), storage_keys: fc.array(hex(32), { maxLength: 3 }) }), {
  maxLength: 3,
})
/** A signature that is one, since ethers reads none other. */
const authorization = fc
  .record({ chain_id: fc.integer({ min: 0, max: 300 }), address: hex(20), nonce: count })
  .map((content) => {
    const { chain_id: chainId, address, nonce } = content
    const { r, s, yParity } = new SigningKey(`0x${'01'.repeat(32)}`).sign(
      hashAuthorization({ chainId, address, nonce }),
    )
    return { ...content, r, s, y_parity: yParity }
  })
const envelope = fc.record({
  ...{
    chain_id: fc.oneof(
      fc.integer({ min: 1, max: 300 }),
      fc.maxSafeNat().filter((id) => id > 0),
    ),
    nonce: count,
  },
  to,
  value: amount,
  data,
  gas_limit: count,
  prices,
  access_list: fc.oneof(fc.constant(null), access),
  authorization_list: fc.oneof(fc.constant(null), fc.array(authorization, { minLength: 1, maxLength: 2 })),
})
/** Numbers with leading zeros too, which a signature has once in 128 times. */
const half = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
const part = fc.oneof(fc.bigInt(1n, 255n), fc.bigInt(1n, 2n ** 240n), fc.bigInt(1n, half))
const signature = fc.record({ r: part, s: part, yParity: fc.constantFrom(0 as const, 1 as const) })

type Signature = { r: bigint; s: bigint; yParity: 0 | 1 }
const word = (value: bigint) => value.toString(16).padStart(64, '0')
const rawOf = ({ r, s, yParity }: Signature) => ({ rs: Buffer.from(word(r) + word(s), 'hex'), recovery: yParity })

/** The transaction as ethers parses it, and its signature. */
function byEthers(transaction: TransactionLike, { r, s, yParity }: Signature) {
  const theirs = Transaction.from(transaction)
  const { unsignedHash, unsignedSerialized } = theirs
  theirs.signature = { r: `0x${word(r)}`, s: `0x${word(s)}`, yParity }
  const read = Transaction.from(theirs.serialized).signature
  const v = theirs.type === 0 ? (read?.networkV ?? read?.v) : yParity
  return { unsignedHash, unsignedSerialized, serialized: theirs.serialized, hash: theirs.hash, v: Number(v) }
}

const text = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`

test('serializes transactions byte for byte as ethers does, and parses them back', () => {
  fc.assert(
    fc.property(envelope, signature, (drawn, signature) => {
      const isLegacy = drawn.prices.kind === 'legacy'
      // Authorizations need two fees and a receiver.
      const authorizations = isLegacy || drawn.to === null ? null : drawn.authorization_list
      const wanted = { ...drawn, authorization_list: authorizations }
      const { chain_id, nonce, to, value, data, gas_limit, prices, access_list } = wanted
      const accessList =
        access_list?.map(({ address, storage_keys }) => ({ address, storageKeys: storage_keys })) ?? null
      const authorizationList =
        authorizations?.map(({ chain_id, address, nonce, r, s, y_parity: yParity }) => {
          const signature = EthersSignature.from({ r, s, yParity })
          return { address, nonce: BigInt(nonce), chainId: BigInt(chain_id), signature }
        }) ?? null
      const theirs = byEthers(
        {
          chainId: chain_id,
          nonce,
          to,
          value,
          data: data ?? '0x',
          gasLimit: gas_limit,
          ...(access_list && { accessList }),
          ...(authorizations && { authorizationList }),
          ...(prices.kind === 'legacy'
            ? { type: access_list ? 1 : 0, gasPrice: prices.gas_price }
            : {
                type: authorizations ? 4 : 2,
                maxFeePerGas: prices.max_fee_per_gas,
                maxPriorityFeePerGas: prices.max_priority_fee_per_gas,
              }),
        },
        signature,
      )
      const { digest, finish } = serializeUnsigned({
        ...wanted,
        ...formOf(typeOf(wanted, prices.kind) as TransactionType, wanted, prices),
      })
      expect(text(digest)).toBe(theirs.unsignedHash)
      const signed = finish(rawOf(signature))
      expect(text(signed.raw)).toBe(theirs.serialized)
      expect(signed.hash).toBe(theirs.hash)
      expect(signed.signature.v).toBe(theirs.v)
      expect(readSigned(signed.raw)).toMatchObject({
        content: {
          to,
          value: value.toString(),
          data,
          gas_limit,
          // With two fees an empty list is encoded as none.
          access_list: access_list?.length === 0 && !isLegacy ? null : access_list,
          authorization_list: authorizations,
        },
        signature: signed.signature,
      })
    }),
    { numRuns: 500 },
  )
})

test('reads unsigned transactions of each type that other libraries wrote', () => {
  const access = fc.array(fc.record({ address: hex(20), storageKeys: fc.array(hex(32), { maxLength: 3 }) }), {
    maxLength: 3,
  })
  const gas = fc.bigInt(0n, 2n ** 64n - 1n)
  const common = { nonce: count, to, value: amount, data: hex({ min: 0, max: 300 }), gasLimit: gas }
  const prepared = fc.oneof(
    fc.record({ ...common, type: fc.constant(0), chainId: fc.bigInt(0n, 2n ** 60n), gasPrice: amount }),
    fc.record({
      ...common,
      type: fc.constant(1),
      chainId: fc.bigInt(0n, 2n ** 60n),
      gasPrice: amount,
      accessList: access,
    }),
    fc
      .record({ ...common, type: fc.constant(2), chainId: fc.bigInt(0n, 2n ** 60n), fees, accessList: access })
      .map(({ fees: [maxPriorityFeePerGas, maxFeePerGas], ...rest }) => ({
        ...rest,
        maxFeePerGas,
        maxPriorityFeePerGas,
      })),
  )
  fc.assert(
    fc.property(prepared, signature, (transaction, signature) => {
      const theirs = byEthers(transaction as TransactionLike, signature)
      const { digest, finish, chain_id } = parseUnsigned(theirs.unsignedSerialized)
      expect(chain_id).toBe(transaction.chainId)
      expect(text(digest)).toBe(theirs.unsignedHash)
      const signed = finish(rawOf(signature))
      expect(text(signed.raw)).toBe(theirs.serialized)
      expect(signed.hash).toBe(theirs.hash)
    }),
    { numRuns: 500 },
  )
})

/** The numbers and bytes of an access list, some of them replaced. */
const written = (type: number, fields: Record<number, Input>, count = type === 1 ? 8 : 9) => {
  const typed = [1, 5, 1, ...(type === 2 ? [2] : []), 21_000, Buffer.alloc(20, 7), 1, Buffer.of(1, 2), []]
  const list: Input[] = type === 0 ? [5, 1, 21_000, Buffer.alloc(20, 7), 1, Buffer.of(1, 2), 1, 0, 0] : typed
  const changed = Array.from({ length: count }, (_, index) => fields[index] ?? list[index] ?? 0)
  return text(Buffer.concat([type === 0 ? Buffer.of() : Buffer.of(type), RLP.encode(changed)]))
}
const zeros = Buffer.of(0, 1)
const wrong: [title: string, hex: string][] = [
  ['nothing', '0x'],
  ['a text', '0x05'],
  ['type 0', `0x00${written(0, {}).slice(2)}`],
  ['type 3', written(3, {})],
  ['a byte too many', `${written(2, {})}00`],
  ['a byte too few', written(2, {}).slice(0, -2)],
  ['a field too many', written(2, {}, 10)],
  ['a field too few', written(2, {}, 8)],
  ['a legacy one with half of its domain', written(0, {}, 7)],
  ['a legacy one for no chain', written(0, { 6: 0 })],
  ['a signature: legacy', written(0, { 7: 1, 8: 1 })],
  ['a signature: type 2', written(2, { 9: 1, 10: 1, 11: 1 }, 12)],
  ['a chain with leading zeros', written(2, { 0: zeros })],
  ['a nonce with leading zeros', written(2, { 1: zeros })],
  ['a zero that is written', written(2, { 1: Buffer.of(0) })],
  ['a nonce of 65 bits', written(2, { 1: 2n ** 64n })],
  ['gas of 65 bits', written(1, { 3: 2n ** 64n })],
  ['a tip above the most', written(2, { 2: 3 })],
  ['a value of 257 bits', written(2, { 6: 2n ** 256n })],
  ['a receiver of 19 bytes', written(2, { 5: Buffer.alloc(19, 7) })],
  ['a receiver of 21 bytes', written(1, { 4: Buffer.alloc(21, 7) })],
  ['a list as a nonce', written(2, { 1: [] })],
  ['a list as data', written(0, { 5: [] })],
  ['bytes as access', written(2, { 8: Buffer.of(1) })],
  ['an address of 19 bytes', written(2, { 8: [[Buffer.alloc(19, 7), []]] })],
  ['an address without keys', written(2, { 8: [[Buffer.alloc(20, 7)]] })],
  ['a key of 31 bytes', written(2, { 8: [[Buffer.alloc(20, 7), [Buffer.alloc(31, 7)]]] })],
  ['a length that is longer than it must be', `0x02${'f8'}08${'01'.repeat(8)}`],
  ['lists without end', `0x02${'c1'.repeat(200_000)}`],
]

test.each(wrong)('rejects %s as an unsigned transaction', (_, hex) => {
  expect(() => parseUnsigned(hex)).toThrow()
})

test('parses a valid unsigned transaction of each type', () => {
  for (const type of [0, 1, 2]) expect(parseUnsigned(written(type, {})).chain_id).toBe(1n)
})

test('accepts no tampered bytes that ethers reads differently', () => {
  const originals = [0, 1, 2].map((type) => Buffer.from(written(type, {}).slice(2), 'hex'))
  const change = fc.record({ at: fc.nat(60), byte: fc.nat(255) })
  let taken = 0
  fc.assert(
    fc.property(
      fc.constantFrom(...originals),
      fc.array(change, { minLength: 1, maxLength: 3 }),
      (original, changes) => {
        const bytes = Buffer.from(original)
        for (const { at, byte } of changes) bytes[at % bytes.length] = byte
        let digest: Uint8Array
        try {
          digest = parseUnsigned(text(bytes)).digest
        } catch {
          return
        }
        taken += 1
        expect(text(digest)).toBe(keccak256(bytes))
        expect(Transaction.from(text(bytes)).unsignedHash).toBe(text(digest))
      },
    ),
    { numRuns: 3_000 },
  )
  expect(taken).toBeGreaterThan(100)
})

test('recovers the signer as the sender', () => {
  const key = new SigningKey(`0x${'11'.repeat(32)}`)
  const wanted = { chain_id: 1, nonce: 0, to: null, value: 0n, data: '0x60', gas_limit: 60_000 }
  const { digest, finish } = serializeUnsigned({ ...wanted, type: 0, prices: { kind: 'legacy', gas_price: 1n } })
  const { r, s, yParity } = key.sign(digest)
  const { raw } = finish(rawOf({ r: BigInt(r), s: BigInt(s), yParity }))
  expect(Transaction.from(text(raw)).fromPublicKey).toBe(key.publicKey)
})

test('counts the items of an unsigned transaction before it decodes them', () => {
  const flat = `0xfa0493e0${'01'.repeat(300_000)}`
  expect(() => parseUnsigned(flat)).toThrow('more than 10000 items')
  const keys = (count: number) => Array.from({ length: count }, () => Buffer.alloc(32))
  const withKeys = (count: number) => {
    const fields: Input = [1, 0, 1, 21_000, '', 0, '0x00', [[Buffer.alloc(20), keys(count)]]]
    return parseUnsigned(`0x01${Buffer.from(RLP.encode(fields)).toString('hex')}`)
  }
  expect(withKeys(8_830).chain_id).toBe(1n)
  expect(() => withKeys(10_000)).toThrow('more than 10000 items')
  let nested: Input = []
  for (let depth = 0; depth < 10; depth += 1) nested = [nested]
  expect(() => parseUnsigned(`0x${Buffer.from(RLP.encode(nested)).toString('hex')}`)).toThrow('nested')
})

test('recovers the account that signed an authorization', () => {
  const key = new SigningKey(`0x${'01'.repeat(32)}`)
  fc.assert(
    fc.property(authorization, (signed) => {
      expect(authorityOf(signed)).toBe(computeAddress(key).toLowerCase())
      expect(authorityOf({ ...signed, nonce: signed.nonce + 1 })).not.toBe(computeAddress(key).toLowerCase())
      expect(authorityOf({ ...signed, r: `0x${'00'.repeat(32)}` })).toBeUndefined()
    }),
    { numRuns: 50 },
  )
})
