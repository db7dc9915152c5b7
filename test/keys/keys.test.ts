import { computeAddress, recoverAddress, SigningKey } from 'ethers'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { generateKey } from '../../server/keys/keyring.ts'
import { ethersCurve, isKey, localSigner, nativeCurve } from '../../server/keys/secp256k1.ts'

/** The order of secp256k1 (SEC 2, section 2.4.1). */
const n = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const bytesOf = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, '0'), 'hex')
const hex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`

const edges = [1n, 2n, 3n, (n - 1n) / 2n, (n + 1n) / 2n, n - 2n, n - 1n].map(bytesOf)
const keys = fc.oneof(
  fc.constantFrom(...edges),
  fc.uint8Array({ minLength: 32, maxLength: 32 }).filter((key) => isKey(key)),
)
// From n on (a hash lies there once in 2^128) the two derive another nonce: RFC 6979 reduces the digest first, which
// libsecp256k1 leaves out. Both signatures are valid; no message is known that has such a digest.
const digests = fc.oneof(
  fc.constantFrom(Buffer.alloc(32), bytesOf(1n), bytesOf(n - 1n)),
  fc.uint8Array({ minLength: 32, maxLength: 32 }).filter((digest) => BigInt(hex(digest)) < n),
)

// Elsewhere its binding may be missing for want of a compiler; the package carries one for these.
const isCarried = ['linux-x64', 'darwin-arm64', 'win32-x64'].includes(`${process.platform}-${process.arch}`)

test('loads the native curve on platforms of its package', () => {
  expect(isCarried && nativeCurve === undefined).toBe(false)
})

test('computes the same public key and signature with both curves, byte for byte', () => {
  // Where there is no native curve the service signs with that of ethers, which agrees with itself.
  const native = nativeCurve ?? ethersCurve
  fc.assert(
    fc.property(keys, digests, (key, digest) => {
      expect(hex(native.publicKey(key))).toBe(hex(ethersCurve.publicKey(key)))
      const one = native.sign(digest, key)
      const other = ethersCurve.sign(digest, key)
      expect({ rs: hex(one.rs), recovery: one.recovery }).toEqual({ rs: hex(other.rs), recovery: other.recovery })
    }),
    { numRuns: 300 },
  )
})

test('has the address that ethers computes, and signatures that recover to it with a low s', async () => {
  await fc.assert(
    fc.asyncProperty(keys, digests, async (key, digest) => {
      const signer = localSigner(key)
      const { rs, recovery } = await signer.sign(digest, () => digest)
      const signature = { r: hex(rs.subarray(0, 32)), s: hex(rs.subarray(32)), yParity: recovery as 0 | 1 }
      expect(signer.address).toBe(computeAddress(new SigningKey(key)).toLowerCase())
      expect(recoverAddress(hex(digest), signature).toLowerCase()).toBe(signer.address)
      expect(rs).toHaveLength(64)
      expect(BigInt(signature.s)).toBeLessThanOrEqual(n / 2n)
    }),
    { numRuns: 100 },
  )
})

test('RFC 6979: computes the published signature of a published nonce', async () => {
  // Key 1 over SHA-256 of "Satoshi Nakamoto", from the vectors that Bitcoin's libraries share.
  const digest = Buffer.from('a0dc65ffca799873cbea0ac274015b9526505daaaed385155425f7337704883e', 'hex')
  const { rs } = await localSigner(bytesOf(1n)).sign(digest, () => digest)
  expect(hex(rs)).toBe(
    '0x934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8' +
      '2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5',
  )
})

test.each([
  ['native', nativeCurve ?? ethersCurve],
  ['ethers', ethersCurve],
])('%s curve: accepts keys between 0 and n only', (_, curve) => {
  for (const key of edges) expect(curve.isKey(key), hex(key)).toBe(true)
  for (const value of [0n, n, n + 1n, 2n ** 256n - 1n]) expect.soft(curve.isKey(bytesOf(value)), `${value}`).toBe(false)
})

test('rejects a key of another length', () => {
  for (const length of [0, 1, 31, 33, 64]) expect(isKey(Buffer.alloc(length, 1)), `${length}`).toBe(false)
})

test('generates valid and distinct keys', () => {
  const made = Array.from({ length: 100 }, generateKey)
  expect(made.every(isKey)).toBe(true)
  expect(new Set(made.map(hex)).size).toBe(100)
})
