import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decrypt, type Encrypted, encrypt } from './envelope.ts'
import { createFaultyKeys, type FaultyKeys } from './key-faults.ts'
import { p256, spkiOf, toDer } from './key-forms.ts'

/*
 * AWS KMS as far as this service calls it, by the AWS KMS API Reference (2014-11-01): GetPublicKey, Sign, Encrypt and Decrypt over the
 * JSON protocol 1.1, their request parameters and errors, and Signature Version 4 (IAM User Guide, "Create a signed AWS API request").
 */

export const awsCredentials = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret-of-the-test' }

export interface FakeKms extends FaultyKeys {
  url: string
  /** The ids of all requests. */
  request_ids: string[]
  region: string
  /** The plain texts that were encrypted so far. */
  encrypted: Encrypted[]
  /** These operations are answered with AccessDeniedException. */
  denied: Set<string>
  /** Creates a key and returns its id. */
  addKey(options?: {
    id?: string
    spec?: 'ECC_SECG_P256K1' | 'ECC_NIST_P256' | 'SYMMETRIC_DEFAULT'
    usage?: string
    disabled?: boolean
  }): string
  /** Ends all connections and accepts none. */
  stop(): Promise<void>
  /** Listens again on the same port. */
  start(): Promise<void>
}

interface Input {
  KeyId: string
  Message?: string
  MessageType?: string
  SigningAlgorithm?: string
  Plaintext?: string
  CiphertextBlob?: string
  EncryptionContext?: Record<string, string>
}

interface Key {
  id: string
  spec: string
  usage: string
  disabled: boolean
  secret: Uint8Array
  spki: Buffer
}

class Refusal extends Error {
  readonly type: string
  readonly status: number
  constructor(type: string, message = type, status = 400) {
    super(message)
    this.type = type
    this.status = status
  }
}

export async function startFakeKms(region = 'eu-central-1'): Promise<FakeKms> {
  const faulty = createFaultyKeys()
  const keys = new Map<string, Key>()
  const requestIds: string[] = []
  const operations: Record<string, (key: Key, input: Input) => object> = {
    GetPublicKey: ({ spec, usage, spki }) => ({
      KeySpec: spec,
      KeyUsage: usage,
      PublicKey: spki.toString('base64'),
      SigningAlgorithms: ['ECDSA_SHA_256'],
    }),
    Sign(key, { Message, MessageType, SigningAlgorithm }) {
      if (key.usage !== 'SIGN_VERIFY') throw new Refusal('InvalidKeyUsageException')
      if (SigningAlgorithm !== 'ECDSA_SHA_256') throw new Refusal('InvalidKeyUsageException', 'algorithm')
      const digest = Buffer.from(Message ?? '', 'base64')
      if (MessageType !== 'DIGEST') throw new Refusal('ValidationException', 'this fake signs digests only')
      if (digest.length !== 32) throw new Refusal('ValidationException', 'Digest is invalid length for algorithm')
      return { Signature: toDer(faulty.sign(digest, key.secret)).toString('base64'), SigningAlgorithm }
    },
    Encrypt(key, { Plaintext = '', EncryptionContext }) {
      if (key.usage !== 'ENCRYPT_DECRYPT') throw new Refusal('InvalidKeyUsageException')
      const bytes = Buffer.from(Plaintext, 'base64')
      if (bytes.length < 1 || bytes.length > 4_096) throw new Refusal('ValidationException', 'Plaintext length')
      const context = contextBytes(EncryptionContext)
      encrypted.push({ plain: bytes, bound_to: context.toString() })
      const ciphertext = encrypt(key.secret, bytes, context)
      return { CiphertextBlob: Buffer.concat([Buffer.from(key.id), ciphertext]).toString('base64') }
    },
    Decrypt(key, { CiphertextBlob = '', EncryptionContext }) {
      if (key.usage !== 'ENCRYPT_DECRYPT') throw new Refusal('InvalidKeyUsageException')
      const bytes = Buffer.from(CiphertextBlob, 'base64')
      const by = bytes.subarray(0, idLength).toString()
      if (!keys.has(by)) throw new Refusal('InvalidCiphertextException', '')
      if (by !== key.id) {
        throw new Refusal(
          'IncorrectKeyException',
          'The key ID in the request does not identify a CMK that can decrypt it.',
        )
      }
      try {
        const decrypted = decrypt(key.secret, bytes.subarray(idLength), contextBytes(EncryptionContext))
        return { Plaintext: decrypted.toString('base64') }
      } catch {
        throw new Refusal('InvalidCiphertextException', '')
      }
    },
  }

  const encrypted: Encrypted[] = []
  const denied = new Set<string>()

  const server = createServer(async (request, response) => {
    const id = randomUUID()
    requestIds.push(id)
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.1', 'x-amzn-RequestId': id })
      response.end(JSON.stringify(body))
    }
    try {
      const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>))
      const operation = /^TrentService\.(\w+)$/.exec(`${request.headers['x-amz-target']}`)?.[1] ?? ''
      const isThrottled = await faulty.enter(operation)
      if (isThrottled) throw new Refusal('ThrottlingException', 'Rate exceeded')
      const { error, silent } = faulty.faults
      if (silent) return void request.socket.destroy()
      if (error) throw new Refusal(error, error, /Internal|Dependency|Unavailable/.test(error) ? 500 : 400)
      checkRequest(request, body, region)
      const input = JSON.parse(body.toString())
      const key = keys.get(input.KeyId)
      if (!key) throw new Refusal('NotFoundException', `Key '${input.KeyId}' does not exist`)
      if (denied.has(operation))
        throw new Refusal('AccessDeniedException', `not authorized to perform: kms:${operation}`)
      if (key.disabled) throw new Refusal('DisabledException', `${input.KeyId} is disabled.`)
      const run = operations[operation]
      if (!run) throw new Refusal('UnknownOperationException')
      answer(200, { KeyId: `arn:aws:kms:${region}:111122223333:key/${input.KeyId}`, ...run(key, input) })
    } catch (error) {
      const { type = 'KMSInternalException', status = 500, message } = error as Partial<Refusal>
      answer(status, { __type: type, message })
    }
  })
  let port = 0
  const start = () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  await start()
  port = (server.address() as AddressInfo).port

  return {
    ...faulty,
    url: `http://127.0.0.1:${port}`,
    region,
    request_ids: requestIds,
    encrypted,
    denied,
    start,
    addKey({
      id = randomUUID(),
      spec = 'ECC_SECG_P256K1',
      usage = spec === 'SYMMETRIC_DEFAULT' ? 'ENCRYPT_DECRYPT' : 'SIGN_VERIFY',
      disabled = false,
    } = {}) {
      const secret = randomBytes(32)
      keys.set(id, { id, spec, usage, disabled, secret, spki: spec === 'ECC_NIST_P256' ? p256() : spkiOf(secret) })
      return id
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const idLength = randomUUID().length

/** The order of the pairs does not matter. */
const contextBytes = (context: Record<string, string> = {}) =>
  Buffer.from(JSON.stringify(Object.entries(context).sort()))

/** Signature Version 4 of the request, as the SDK must compute it. */
function checkRequest({ headers, method, url }: IncomingMessage, body: Buffer, region: string): void {
  if (headers['content-type'] !== 'application/x-amz-json-1.1') throw new Refusal('SerializationException')
  const parts =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/kms\/aws4_request, SignedHeaders=(\S+), Signature=(\w{64})$/
  const [, id, date = '', scope, signed = '', signature] = parts.exec(headers.authorization ?? '') ?? []
  if (id !== awsCredentials.AWS_ACCESS_KEY_ID) throw new Refusal('UnrecognizedClientException')
  if (scope !== region) throw new Refusal('InvalidSignatureException', 'Credential should be scoped to a valid region.')
  const names = signed.split(';')
  const canonical = [
    method,
    url,
    '',
    ...names.map((name) => `${name}:${`${headers[name]}`.trim()}`),
    '',
    signed,
    createHash('sha256').update(body).digest('hex'),
  ].join('\n')
  const text = [
    'AWS4-HMAC-SHA256',
    headers['x-amz-date'],
    `${date}/${region}/kms/aws4_request`,
    createHash('sha256').update(canonical).digest('hex'),
  ].join('\n')
  let key: Buffer = Buffer.from(`AWS4${awsCredentials.AWS_SECRET_ACCESS_KEY}`)
  for (const step of [date, region, 'kms', 'aws4_request', text]) key = createHmac('sha256', key).update(step).digest()
  if (key.toString('hex') !== signature) throw new Refusal('InvalidSignatureException')
}
