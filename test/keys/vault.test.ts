import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Vault } from '../../server/keys/secret-encryption.ts'
import { createRelayer, createSigner } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'
import { rowsOf } from '../support/service-database.ts'

const masterKey = Buffer.alloc(32, 7)
const vault = new Vault(masterKey)
const secret = Buffer.from('a secret of some length')

test('opens any sealed text again', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), fc.string({ unit: 'grapheme' }), (bytes, row) => {
      expect(vault.open(vault.seal(bytes, row), row).equals(bytes)).toBe(true)
    }),
  )
})

test('opens a sealed secret in another process with the same master key, and with no other key', () => {
  const sealed = vault.seal(secret, 'signers:a')
  expect(new Vault(Buffer.from(masterKey)).open(sealed, 'signers:a')).toEqual(secret)
  for (let bit = 0; bit < 256; bit += 1) {
    const other = Buffer.from(masterKey)
    other.writeUInt8((other[bit >> 3] as number) ^ (1 << (bit & 7)), bit >> 3)
    expect(() => new Vault(other).open(sealed, 'signers:a')).toThrow()
  }
})

test('opens a sealed secret for no other row', () => {
  const sealed = vault.seal(secret, 'signers:a')
  for (const row of ['signers:b', 'notifications:a', 'signers:a ', 'signers:', 'SIGNERS:A', '']) {
    expect(() => vault.open(sealed, row), row).toThrow()
  }
})

test('opens no sealed secret with a changed, missing or added byte', () => {
  const sealed = vault.seal(secret, 'signers:a')
  for (let at = 0; at < sealed.length; at += 1) {
    for (const flip of [1, 128, 255]) {
      const changed = Buffer.from(sealed)
      changed.writeUInt8((changed[at] as number) ^ flip, at)
      expect(() => vault.open(changed, 'signers:a'), `byte ${at}`).toThrow()
    }
    expect(() => vault.open(sealed.subarray(0, at), 'signers:a'), `the first ${at} bytes`).toThrow()
  }
  expect(() => vault.open(Buffer.concat([sealed, Buffer.alloc(1)]), 'signers:a')).toThrow()
})

test('seals a secret differently each time, and never contains it', () => {
  const sealings = Array.from({ length: 1_000 }, () => Buffer.from(vault.seal(secret, 'signers:a')))
  // The nonce is the 12 bytes after the version; under one key it may never come twice.
  expect(new Set(sealings.map((sealed) => sealed.toString('hex', 1, 13))).size).toBe(1_000)
  expect(sealings.some((sealed) => sealed.includes(secret))).toBe(false)
})

test('signs nothing with a sealed key that is copied into another row, and does not show it', async () => {
  const service = await startTestService()
  const { client, raw, logged } = service
  const victim = await createSigner(client)
  const relayer = await createRelayer(client)
  await rowsOf(
    service,
    `UPDATE signers SET secret = (SELECT secret FROM signers WHERE id = '${victim.id}') WHERE id = '${relayer.signer_id}'`,
  )
  const answer = await raw(`/api/v1/relayers/${relayer.id}/sign`, { method: 'POST', body: '{"message":"Hello"}' })
  expect(answer.status).toBe(503)
  expect(await answer.json()).toMatchObject({ success: false, data: null, details: [{ path: 'store' }] })
  expect(logged.join('')).toContain('row refused')
})

test('uses random nonces: two vaults under one master key do not repeat each other', () => {
  const other = new Vault(masterKey)
  const text = randomBytes(8)
  const [one, two] = [vault.seal(text, 'r'), other.seal(text, 'r')].map((sealed) => Buffer.from(sealed).toString('hex'))
  expect(one).not.toBe(two)
})
