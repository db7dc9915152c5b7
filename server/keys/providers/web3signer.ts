import { getBytes } from 'ethers/utils'
import type { RemoteConfig } from '../../../generated/openapi.ts'
import { parseUnsigned, signatureFields } from '../../domain/decoding/transaction.ts'
import { type HeadersByUrl, headersOf } from '../../domain/settings.ts'
import { BoundedMap } from '../../lib/cache.ts'
import { CannotSign, KeyServiceFault, type Outbound, type RemoteKey, shared } from '../key-service.ts'
import { addressOf } from '../secp256k1.ts'
import { type JsonAnswer, kindOfStatus, member, RestService, textMember } from './rest-service.ts'

const name = 'the remote signer'
const maxConnections = 1_000
/** EIP-1474: "Request exceeds defined limit". */
const limitExceeded = -32_005

/**
 * Keys in remote signers, by web3signer's documentation: the REST interface of eth1 (eth1/publicKeys, eth1/sign), which signs the
 * keccak-256 of the data, and its JSON-RPC interface (eth_accounts, eth_sign, eth_signTransaction).
 */
export class Web3signer {
  readonly #outbound: Outbound
  readonly #headers: HeadersByUrl
  /** By origin and certificates. */
  readonly #connections = new BoundedMap<string, RestService>(maxConnections)

  constructor(outbound: Outbound, headers: HeadersByUrl) {
    this.#outbound = outbound
    this.#headers = headers
  }

  key(config: RemoteConfig): RemoteKey {
    const base = config.url.replace(/\/$/, '')
    const headers = { ...headersOf(base, this.#headers), ...config.headers }
    const address = config.address.toLowerCase()
    const call: Call = async (method, path, body, signal) => {
      const url = path === '' ? config.url : `${base}${path}`
      const answer = await this.#connectionTo(config).send({ url, method, headers, body, signal })
      if (answer.status === 200) return answer
      throw new KeyServiceFault(kindOfStatus(answer.status), `${name} answered ${answer.status}`, answer.text)
    }
    return config.interface === 'json_rpc' ? byJsonRpc(call, address) : byRest(call, address)
  }

  #connectionTo({ url, ca_certificate, client_identity: identity }: RemoteConfig): RestService {
    const tls = {
      ...(ca_certificate !== undefined && { ca: ca_certificate }),
      ...(identity && { cert: identity.certificate, key: identity.key }),
    }
    const of = JSON.stringify([new URL(url).origin, tls])
    return this.#connections.of(of, () => new RestService(name, this.#outbound, tls))
  }
}

type Call = (method: 'GET' | 'POST', path: string, body: unknown, signal: AbortSignal) => Promise<JsonAnswer>

function byRest(call: Call, address: string): RemoteKey {
  let known: Uint8Array | undefined

  const readKeys = shared(async (signal): Promise<Uint8Array> => {
    const { body } = await call('GET', '/api/v1/eth1/publicKeys', undefined, signal)
    for (const text of Array.isArray(body) ? body : []) {
      if (typeof text !== 'string' || !/^(?:0x)?(?:04)?[0-9a-fA-F]{128}$/.test(text)) continue
      // Without its first byte, as web3signer writes it.
      const point = Buffer.concat([Uint8Array.of(4), Buffer.from(text.slice(-128), 'hex')])
      if (addressOf(point) === address) {
        known = point
        return point
      }
    }
    throw new KeyServiceFault('refused', `${name} has no key of the address ${address}`)
  })
  const findKey = async (signal: AbortSignal) => known ?? (await readKeys(signal))

  return {
    publicKey: async (signal) => ({ address: addressOf(await findKey(signal)) }),
    async sign(_, signal, preimage) {
      const identifier = hex((await findKey(signal)).subarray(1))
      const { text } = await call('POST', `/api/v1/eth1/sign/${identifier}`, { data: hex(preimage()) }, signal)
      return { rs: signatureIn(text.trim()) }
    },
  }
}

function byJsonRpc(call: Call, address: string): RemoteKey {
  async function ask(method: string, params: unknown[], signal: AbortSignal): Promise<unknown> {
    const { body } = await call('POST', '', { jsonrpc: '2.0', id: 1, method, params }, signal)
    const error = member(body, 'error')
    if (error === undefined || error === null) return member(body, 'result')
    const kind = member(error, 'code') === limitExceeded ? 'throttled' : 'refused'
    throw new KeyServiceFault(kind, `${name} refused ${method}`, textMember(error, 'message'))
  }

  return {
    async publicKey(signal) {
      const accounts = await ask('eth_accounts', [], signal)
      const isThere = Array.isArray(accounts) && accounts.some((one) => `${one}`.toLowerCase() === address)
      if (!isThere) throw new KeyServiceFault('refused', `${name} has no key of the address ${address}`)
      return { address }
    },
    async sign(_, signal, preimage) {
      const bytes = preimage()
      const message = messageIn(bytes)
      if (message) return { rs: signatureIn(await ask('eth_sign', [address, hex(message)], signal)) }
      const answer = await ask('eth_signTransaction', [{ from: address, ...fieldsOf(bytes) }], signal)
      // Geth and others answer {raw, tx}.
      return { rs: signatureOf(typeof answer === 'string' ? answer : textMember(answer, 'raw')) }
    },
  }
}

/** The message whose digest (EIP-191, version 0x45) has this preimage; undefined: it is something else. */
function messageIn(preimage: Uint8Array): Uint8Array | undefined {
  const head = Buffer.from(preimage.subarray(0, 40)).toString('latin1')
  const prefix = '\x19Ethereum Signed Message:\n'
  if (!head.startsWith(prefix)) return undefined
  for (let digits = 1; digits <= 9; digits += 1) {
    const message = preimage.subarray(prefix.length + digits)
    if (head.slice(prefix.length, prefix.length + digits) === `${message.length}`) return message
  }
  return undefined
}

/** The fields of a transaction for eth_signTransaction. Throws CannotSign when the method has no fields for the content. */
function fieldsOf(preimage: Uint8Array): Record<string, string> {
  const [first = 0] = preimage
  if (first !== 1 && first !== 2 && first < 0xc0) {
    throw new CannotSign(
      'a remote signer with the interface json_rpc signs messages and transactions only; typed data requires rest',
    )
  }
  const its = parseUnsigned(hex(preimage))
  if (its.access_list.length > 0) {
    throw new CannotSign('a remote signer with the interface json_rpc signs no access lists; they require rest')
  }
  const { type, to, nonce, gas_limit, gas_price, max_priority_fee_per_gas, value, data, chain_id } = its
  const prices: Record<string, bigint> =
    max_priority_fee_per_gas === undefined
      ? { gasPrice: gas_price }
      : { maxFeePerGas: gas_price, maxPriorityFeePerGas: max_priority_fee_per_gas }
  const numbers = { nonce, gas: gas_limit, value, chainId: chain_id, type: BigInt(type), ...prices }
  return {
    ...Object.fromEntries(Object.entries(numbers).map(([key, number]) => [key, `0x${number.toString(16)}`])),
    ...(to !== null && { to }),
    data,
  }
}

const wrong = () => new KeyServiceFault('wrong', `the answer of ${name} is not a signature`)

/** r and s of 65 bytes of hex. */
function signatureIn(text: unknown): Uint8Array {
  if (typeof text !== 'string' || !/^0x[0-9a-fA-F]{130}$/.test(text)) throw wrong()
  return Buffer.from(text.slice(2, 130), 'hex')
}

/** The last two fields of a signed transaction (EIP-2718, EIP-155). The caller checks them against the digest that it asked for. */
function signatureOf(raw: string | undefined): Uint8Array {
  try {
    const [r, s] = signatureFields(getBytes(raw ?? ''))
    return Buffer.concat([setLength(r), setLength(s)])
  } catch {
    // Not a transaction.
  }
  throw wrong()
}

/** 32 bytes: RLP leaves out leading zeros. */
function setLength(integer: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(32)
  bytes.set(integer, 32 - integer.length)
  return bytes
}

const hex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`
