import type { SignatureResult } from '../../generated/openapi.ts'
import { ApiError, badRequest, notFound } from '../errors.ts'
import { type Handlers, single } from '../operation.ts'

interface Signature {
  rs: Uint8Array
  recovery: number
}

export interface SigningParts {
  findSigner(
    relayer_id: string,
  ): Promise<
    { relayer: { paused: boolean }; signer: { sign(digest: Uint8Array): Signature | Promise<Signature> } } | undefined
  >
  messageDigest(message: string): Uint8Array
  typedDataDigest(domainSeparator: Uint8Array, structHash: Uint8Array): Uint8Array
}

export function signing({
  findSigner,
  messageDigest,
  typedDataDigest,
}: SigningParts): Pick<Handlers, 'signMessage' | 'signTypedData'> {
  const sign = async (relayer_id: string, unknown: string, digest: () => Uint8Array) => {
    const held = await findSigner(relayer_id)
    if (!held) throw notFound(unknown)
    if (held.relayer.paused) throw new ApiError('forbidden', 'Relayer paused')
    return single(signatureResult(await held.signer.sign(digest())))
  }

  return {
    signMessage: ({ path, body }) => sign(path.relayer_id, 'Not found', () => messageDigest(body.message)),
    signTypedData: ({ path, body }) =>
      sign(path.relayer_id, `Relayer with ID ${path.relayer_id} not found`, () =>
        typedDataDigest(hash('domain_separator', body), hash('hash_struct_message', body)),
      ),
  }
}

/** 32 bytes from 64 hex digits with or without 0x. */
function hash<Name extends string>(name: Name, body: Record<Name, string>): Uint8Array {
  const text = body[name]
  const bytes = Buffer.from(text.startsWith('0x') ? text.slice(2) : text, 'hex')
  // The contract's pattern has 64 digits; this holds should it ever change.
  if (bytes.length !== 32) throw badRequest(`/body/${name}`, 'must be 32 bytes of hex')
  return bytes
}

function signatureResult({ rs, recovery }: Signature): SignatureResult {
  const hex = Buffer.from(rs.buffer, rs.byteOffset, rs.length).toString('hex')
  const v = 27 + recovery
  return { r: `0x${hex.slice(0, 64)}`, s: `0x${hex.slice(64)}`, sig: `0x${hex}${v.toString(16)}`, v }
}
