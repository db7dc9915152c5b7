import { randomBytes } from 'node:crypto'
import { crc32c } from './crc32c.ts'
import { decrypt, type Encrypted, encrypt } from './envelope.ts'

/** An error of google.rpc.Status. */
export class Refusal extends Error {
  readonly code: number
  readonly status: string
  constructor(code: number, status: string, message: string) {
    super(message)
    this.code = code
    this.status = status
  }
}

type Input = Record<string, string | undefined>

/** Symmetric keys of the fake of Google Cloud KMS: cryptoKeys.encrypt and cryptoKeys.decrypt, with their checksums. */
export function createGoogleEncryption() {
  const keys = new Map<string, Buffer>()
  const encrypted: Encrypted[] = []

  function bytesOf(input: Input, field: string): Buffer {
    const bytes = Buffer.from(input[field] ?? '', 'base64')
    const sum = input[`${field}Crc32c`]
    if (sum !== undefined && sum !== `${crc32c(bytes)}`) {
      throw new Refusal(400, 'INVALID_ARGUMENT', `The checksum in field ${field}_crc32c did not match the data.`)
    }
    return bytes
  }

  return {
    encrypted,
    addKey(): string {
      const name = `projects/example/locations/europe-west3/keyRings/relayers/cryptoKeys/master-${keys.size}`
      keys.set(name, randomBytes(32))
      return name
    },
    /** Undefined for other operations. */
    answer(name: string, operation: string, text: string): object | undefined {
      if (operation !== ':encrypt' && operation !== ':decrypt') return undefined
      const key = keys.get(name)
      if (!key) throw new Refusal(404, 'NOT_FOUND', `CryptoKey ${name} not found.`)
      const input: Input = JSON.parse(text)
      const additional = bytesOf(input, 'additionalAuthenticatedData')
      if (operation === ':encrypt') {
        const bytes = bytesOf(input, 'plaintext')
        encrypted.push({ plain: bytes, bound_to: additional.toString() })
        const ciphertext = encrypt(key, bytes, additional)
        return {
          name: `${name}/cryptoKeyVersions/1`,
          ...{ ciphertext: ciphertext.toString('base64'), ciphertextCrc32c: `${crc32c(ciphertext)}` },
          verifiedPlaintextCrc32c: input.plaintextCrc32c !== undefined,
          verifiedAdditionalAuthenticatedDataCrc32c: input.additionalAuthenticatedDataCrc32c !== undefined,
          protectionLevel: 'SOFTWARE',
        }
      }
      const ciphertext = bytesOf(input, 'ciphertext')
      try {
        const bytes = decrypt(key, ciphertext, additional)
        return { plaintext: bytes.toString('base64'), plaintextCrc32c: `${crc32c(bytes)}`, usedPrimary: true }
      } catch {
        throw new Refusal(400, 'INVALID_ARGUMENT', 'Decryption failed: the ciphertext is invalid.')
      }
    },
  }
}
