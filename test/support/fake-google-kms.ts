import { createVerify, generateKeyPairSync, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { crc32c } from './crc32c.ts'
import type { Encrypted } from './envelope.ts'
import { createGoogleEncryption, Refusal } from './fake-google-encryption.ts'
import { createFaultyKeys, type FaultyKeys } from './key-faults.ts'
import { p256, spkiOf, toDer } from './key-forms.ts'
import { type Listener, listen } from './listener.ts'

/*
 * Google Cloud KMS as far as this service calls it, by the REST reference of the Cloud KMS API v1: getPublicKey and asymmetricSign of
 * projects.locations.keyRings.cryptoKeys.cryptoKeyVersions, encrypt and decrypt of projects.locations.keyRings.cryptoKeys, "Verifying end-to-end data integrity", google.rpc.Status, and for the
 * credentials AIP-4111 (self-signed JWT of a service account).
 */

export interface FakeGoogleKms extends FaultyKeys, Listener {
  /** The JSON key of a service account that may use every key. */
  account: { type: 'service_account'; client_email: string; private_key: string; private_key_id: string }
  /** Every request, without its token. */
  requests: { method: string; path: string; body: unknown }[]
  /** A field of the next answers is changed. */
  damage: { field?: string; value?: unknown }
  /** Creates a key version and returns its resource name. */
  addKey(options?: { algorithm?: string; state?: 'ENABLED' | 'DISABLED' }): string
  /** Creates a symmetric key and returns its resource name. */
  addEncryptionKey(): string
  /** The plain texts that were encrypted so far. */
  encrypted: Encrypted[]
  /** These operations are answered with PERMISSION_DENIED. */
  denied: Set<string>
}

interface KeyVersion {
  algorithm: string
  state: string
  secret: Uint8Array
}

const codes: Record<string, number> = { PERMISSION_DENIED: 403, UNAVAILABLE: 503, INTERNAL: 500 }

export async function startFakeGoogleKms(): Promise<FakeGoogleKms> {
  const faulty = createFaultyKeys()
  const versions = new Map<string, KeyVersion>()
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const account: FakeGoogleKms['account'] = {
    type: 'service_account',
    client_email: 'relayer@example.iam.gserviceaccount.com',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    private_key_id: randomBytes(20).toString('hex'),
  }

  /** The claims of AIP-4111, signed by the account. */
  function authenticate({ headers }: IncomingMessage): void {
    const [head = '', claims = '', signature = ''] = (
      /^Bearer (.+)$/.exec(`${headers.authorization}`)?.[1] ?? ''
    ).split('.')
    const isSigned = createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url')
    if (!isSigned) throw new Refusal(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.')
    const { iss, scope, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString())
    if (iss !== account.client_email || exp * 1_000 < Date.now()) {
      throw new Refusal(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.')
    }
    if (scope !== 'https://www.googleapis.com/auth/cloudkms') {
      throw new Refusal(403, 'PERMISSION_DENIED', 'Request had insufficient authentication scopes.')
    }
  }

  const getPublicKey = (name: string, { algorithm, secret }: KeyVersion) => {
    const spki = algorithm === 'EC_SIGN_P256_SHA256' ? p256() : spkiOf(secret)
    const lines = spki.toString('base64').replace(/.{1,64}/g, '$&\n')
    const pem = `-----BEGIN PUBLIC KEY-----\n${lines}-----END PUBLIC KEY-----\n`
    return { name, algorithm, pem, pemCrc32c: `${crc32c(Buffer.from(pem))}`, protectionLevel: 'HSM' }
  }

  function asymmetricSign(name: string, { secret }: KeyVersion, input: Record<string, unknown>) {
    const digest = input.digest as { sha256?: string } | undefined
    if (typeof digest?.sha256 !== 'string' || Object.keys(digest).length !== 1) {
      throw new Refusal(400, 'INVALID_ARGUMENT', 'The digest must be a SHA-256 digest.')
    }
    const bytes = Buffer.from(digest.sha256, 'base64')
    if (bytes.length !== 32) throw new Refusal(400, 'INVALID_ARGUMENT', 'The digest has the wrong length.')
    if (input.digestCrc32c !== undefined && input.digestCrc32c !== `${crc32c(bytes)}`) {
      throw new Refusal(400, 'INVALID_ARGUMENT', 'The checksum in field digest_crc32c did not match the data.')
    }
    const signature = toDer(faulty.sign(bytes, secret))
    return {
      name,
      signature: signature.toString('base64'),
      signatureCrc32c: `${crc32c(signature)}`,
      verifiedDigestCrc32c: input.digestCrc32c !== undefined,
      protectionLevel: 'HSM',
    }
  }

  const encryption = createGoogleEncryption()

  const listener = await listen(async (request, response) => {
    const answer = (status: number, body: object) =>
      response.writeHead(status, { 'Content-Type': 'application/json; charset=UTF-8' }).end(JSON.stringify(body))
    const text = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString()
    const path = request.url ?? ''
    fake.requests.push({ method: `${request.method}`, path, body: text === '' ? undefined : JSON.parse(text) })
    try {
      const [, name = '', operation] = /^\/v1\/(.+?)(\/publicKey|:asymmetricSign|:encrypt|:decrypt)$/.exec(path) ?? []
      const isThrottled = await faulty.enter(`${operation}`)
      if (isThrottled) throw new Refusal(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for quota metric.')
      const { error } = faulty.faults
      if (error) throw new Refusal(codes[error] ?? 400, error, error)
      authenticate(request)
      if (fake.denied.has(`${operation}`)) throw new Refusal(403, 'PERMISSION_DENIED', `Permission denied on ${name}.`)
      const symmetric = encryption.answer(name, `${operation}`, text)
      if (symmetric) return void answer(200, { ...symmetric, ...damageOf(fake.damage) })
      const version = versions.get(name)
      if (!version) throw new Refusal(404, 'NOT_FOUND', `CryptoKeyVersion ${name} not found.`)
      if (version.state !== 'ENABLED') {
        throw new Refusal(400, 'FAILED_PRECONDITION', `${name} is not enabled, current state is: ${version.state}.`)
      }
      const body =
        operation === '/publicKey' && request.method === 'GET'
          ? getPublicKey(name, version)
          : asymmetricSign(name, version, JSON.parse(text))
      answer(200, { ...body, ...damageOf(fake.damage) })
    } catch (error) {
      const { code = 500, status = 'INTERNAL', message } = error as Partial<Refusal>
      answer(code, { error: { code, status, message } })
    }
  })

  const fake: FakeGoogleKms = {
    ...faulty,
    ...listener,
    account,
    requests: [],
    damage: {},
    addEncryptionKey: encryption.addKey,
    encrypted: encryption.encrypted,
    denied: new Set(),
    addKey({ algorithm = 'EC_SIGN_SECP256K1_SHA256', state = 'ENABLED' } = {}) {
      const ring = 'projects/example/locations/europe-west3/keyRings/relayers'
      const name = `${ring}/cryptoKeys/key-${versions.size}/cryptoKeyVersions/1`
      versions.set(name, { algorithm, state, secret: randomBytes(32) })
      return name
    },
  }
  return fake
}

const damageOf = ({ field, value }: FakeGoogleKms['damage']) => (field === undefined ? {} : { [field]: value })
