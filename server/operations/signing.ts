import type { SignatureResult, SignedTransaction } from '../../generated/openapi.ts'
import { ApiError, badRequest, notFound } from '../errors.ts'
import type { Observer } from '../observer.ts'
import { type Handlers, single } from '../operation.ts'
import type { RelayerRow } from '../store/store.ts'

interface Signature {
  rs: Uint8Array
  recovery: number
}

interface Held {
  relayer: RelayerRow
  signer: { sign(digest: Uint8Array): Signature | Promise<Signature> }
}

export interface SigningParts {
  observer: Observer
  findSigner(relayer_id: string): Promise<Held | undefined>
  messageDigest(message: string): Uint8Array
  typedDataDigest(domainSeparator: Uint8Array, structHash: Uint8Array): Uint8Array
  /** Throws when the bytes are no unsigned transaction. */
  parseUnsigned(hex: string): {
    chain_id: bigint
    to: string | null
    gas_price: bigint
    digest: Uint8Array
    finish(signature: Signature): { raw: Uint8Array; hash: string; signature: SignedTransaction['signature'] }
  }
  /** What the relayer's policies say of a transaction. Throws ApiError (403). */
  checkPolicies(
    relayer: RelayerRow,
    transaction: { to: string | null; gas_price: string | null; max_fee_per_gas: string | null },
  ): void
}

type Signing = Pick<Handlers, 'signMessage' | 'signTypedData' | 'signTransaction'>

export function signing(parts: SigningParts): Signing {
  const { findSigner, messageDigest, typedDataDigest, parseUnsigned, checkPolicies, observer } = parts

  const find = async (relayer_id: string, unknown: string): Promise<Held> => {
    const held = await findSigner(relayer_id)
    if (!held) throw notFound(unknown)
    if (held.relayer.paused) throw new ApiError('forbidden', 'Relayer paused')
    return held
  }
  const unknown = (relayer_id: string) => `Relayer with ID ${relayer_id} not found`

  return {
    async signMessage({ path, body, deed }) {
      const { signer } = await find(path.relayer_id, 'Not found')
      const digest = messageDigest(body.message)
      deed.subject = hexOf(digest)
      const signature = await signer.sign(digest)
      observer.signed?.('message')
      return single(signatureResult(signature))
    },

    async signTypedData({ path, body, deed }) {
      const { signer } = await find(path.relayer_id, unknown(path.relayer_id))
      const digest = typedDataDigest(hash('domain_separator', body), hash('hash_struct_message', body))
      deed.subject = hexOf(digest)
      const signature = await signer.sign(digest)
      observer.signed?.('typed_data')
      return single(signatureResult(signature))
    },

    async signTransaction({ path, body, deed }) {
      const { relayer, signer } = await find(path.relayer_id, unknown(path.relayer_id))
      const transaction = parse(body.unsigned_transaction)
      if (transaction.chain_id !== BigInt(relayer.chain_id)) {
        throw badRequest(place, `is for chain id ${transaction.chain_id} and not for ${relayer.chain_id}`)
      }
      const gas_price = transaction.gas_price.toString()
      checkPolicies(relayer, { to: transaction.to, gas_price, max_fee_per_gas: null })
      deed.subject = hexOf(transaction.digest)
      const { raw, hash, signature } = transaction.finish(await signer.sign(transaction.digest))
      observer.signed?.('transaction')
      return single({ signed_transaction: `0x${Buffer.from(raw).toString('hex')}`, hash, signature })
    },
  }

  function parse(hex: string) {
    try {
      return parseUnsigned(hex)
    } catch {
      throw badRequest(place, 'is no unsigned transaction of a type that is signed here (legacy, EIP-2930, EIP-1559)')
    }
  }
}

const place = '/body/unsigned_transaction'

/** 32 bytes from 64 hex digits with or without 0x. */
function hash<Name extends string>(name: Name, body: Record<Name, string>): Uint8Array {
  const text = body[name]
  const bytes = Buffer.from(text.startsWith('0x') ? text.slice(2) : text, 'hex')
  // The contract's pattern has 64 digits; this holds should it ever change.
  if (bytes.length !== 32) throw badRequest(`/body/${name}`, 'must be 32 bytes of hex')
  return bytes
}

const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`

function signatureResult({ rs, recovery }: Signature): SignatureResult {
  const hex = Buffer.from(rs.buffer, rs.byteOffset, rs.length).toString('hex')
  const v = 27 + recovery
  return { r: `0x${hex.slice(0, 64)}`, s: `0x${hex.slice(64)}`, sig: `0x${hex}${v.toString(16)}`, v }
}
