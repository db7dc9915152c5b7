import type { SignatureResult, SignMessageRequest } from '../../generated/openapi.ts'
import { badRequest } from '../core/errors.ts'
import { toHex } from '../core/hex.ts'
import type { Signature } from '../keys/signer.ts'

const give_one = 'give exactly one of message and message_hex'

/** The text or the bytes to sign. */
export function messageOf({ message, message_hex }: SignMessageRequest): string | Uint8Array {
  if (message !== undefined && message_hex !== undefined) throw badRequest('/body/message_hex', give_one)
  if (message !== undefined) return message
  if (message_hex !== undefined) return Buffer.from(message_hex.slice(2), 'hex')
  throw badRequest('/body/message', give_one)
}

/** 32 bytes from 64 hex digits, with or without 0x. */
export function hash<Name extends string>(name: Name, body: Record<Name, string>): Uint8Array {
  const text = body[name]
  const bytes = Buffer.from(text.startsWith('0x') ? text.slice(2) : text, 'hex')
  // The contract's pattern requires 64 digits; this guards against a change of the pattern.
  if (bytes.length !== 32) throw badRequest(`/body/${name}`, 'must be 32 bytes: 64 hex digits, with or without 0x')
  return bytes
}

export function signatureResult({ rs, recovery }: Signature): SignatureResult {
  const hex = toHex(rs)
  const v = 27 + recovery
  return { r: hex.slice(0, 66), s: `0x${hex.slice(66)}`, sig: `${hex}${v.toString(16)}`, v }
}
