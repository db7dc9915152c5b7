import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import type { TLSSocket } from 'node:tls'
import { computeAddress, keccak256, SigningKey } from 'ethers'
import { createFaultyKeys, type FaultyKeys, publicKeyOf } from './key-faults.ts'
import { type Listener, listen, tls } from './listener.ts'

/*
 * The REST interface of web3signer for eth1, by its OpenAPI document (eth1/web3signer.yaml): GET /api/v1/eth1/publicKeys, and POST
 * /api/v1/eth1/sign/{identifier}, which signs the keccak-256 of the data.
 */

export interface FakeWeb3signer extends FaultyKeys, Listener {
  address: string
  /** Method, path, body and the header Authorization of every request. */
  requests: { method: string; path: string; body: unknown; authorization: string | undefined }[]
}

const native = createRequire(import.meta.url)('secp256k1')
const invalid = 400
const hexData = /^0x(?:[0-9a-f]{2})+$/

/** `mutual`: HTTPS, and only clients with the certificate of the tests. */
export async function startFakeWeb3signer({ mutual = false } = {}): Promise<FakeWeb3signer> {
  const faulty = createFaultyKeys()
  const secret = randomBytes(32)
  const identifier = `0x${Buffer.from(publicKeyOf(secret).subarray(1)).toString('hex')}`
  const other = `0x${Buffer.from(publicKeyOf(randomBytes(32)).subarray(1)).toString('hex')}`
  const isKnown = ({ socket }: IncomingMessage) => !mutual || (socket as TLSSocket).authorized

  const listener = await listen(
    async (request, response) => {
      const text = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString()
      const path = request.url ?? ''
      const { authorization } = request.headers
      const body = text === '' ? undefined : JSON.parse(text)
      fake.requests.push({ method: `${request.method}`, path, body, authorization })
      if (!isKnown(request)) return response.writeHead(401).end()
      if (await faulty.enter(path)) return response.writeHead(429).end()
      if (faulty.faults.error) return response.writeHead(500).end('Internal server error')
      if (request.method === 'GET' && path === '/api/v1/eth1/publicKeys') {
        return response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify([other, identifier]))
      }
      const [, key] = /^\/api\/v1\/eth1\/sign\/(0x[0-9a-f]{128})$/.exec(path) ?? []
      if (request.method !== 'POST' || key !== identifier) return response.writeHead(404).end()
      if (!hexData.test(body?.data)) return response.writeHead(invalid).end()
      const digest = Buffer.from(keccak256(body.data).slice(2), 'hex')
      const rs = Buffer.from(faulty.sign(digest, secret))
      // The last byte is not read by the service, which finds the recovery id itself.
      const v = native.ecdsaVerify(rs, digest, native.publicKeyCreate(secret)) ? '1b' : '1c'
      response.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`0x${rs.toString('hex')}${v}`)
    },
    mutual ? { requestCert: true, rejectUnauthorized: false, ca: tls.cert } : undefined,
  )

  const fake: FakeWeb3signer = {
    ...faulty,
    ...listener,
    address: computeAddress(new SigningKey(secret)).toLowerCase(),
    requests: [],
  }
  return fake
}
