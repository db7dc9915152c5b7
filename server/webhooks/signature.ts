import { createHmac } from 'node:crypto'

const prefix = 'whsec_'

/** The signature headers of one attempt; none without a signing key. */
interface SignatureHeaders {
  'X-Signature'?: string
  'webhook-signature'?: string
}

interface Signed {
  key: string | undefined
  /** The replaced key, which keeps signing for a day. */
  former: string | undefined
  id: string
  /** Seconds since the epoch. */
  timestamp: number
  body: string
}

/**
 * Signs for both kinds of receivers. `X-Signature`: base64(HMAC-SHA256(key's text, body)). `webhook-signature` (Standard Webhooks
 * 1.0.0): `v1,` and base64(HMAC-SHA256(key, id.timestamp.body)), once for each way to decode a key, because receivers differ.
 */
export function signatureHeaders({ key, former, id, timestamp, body }: Signed): SignatureHeaders {
  if (key === undefined) return {}
  const signed = `${id}.${timestamp}.${body}`
  const candidates = [key, ...(former === undefined ? [] : [former])].flatMap(candidateKeys)
  const signatures = new Set(candidates.map((bytes) => `v1,${hmac(bytes, signed)}`))
  return {
    'X-Signature': hmac(Buffer.from(key, 'utf8'), body),
    'webhook-signature': [...signatures].join(' '),
  }
}

/** The decoded base64 after `whsec_`, which the contract demands there; of another text its bytes, and what it decodes to as base64. */
function candidateKeys(key: string): Buffer[] {
  if (key.startsWith(prefix)) return [Buffer.from(key.slice(prefix.length), 'base64')]
  return [...(isBase64(key) ? [Buffer.from(key, 'base64')] : []), Buffer.from(key, 'utf8')]
}

const isBase64 = (text: string): boolean =>
  text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]{1,680}={0,2}$/.test(text)

const hmac = (key: Uint8Array, text: string): string => createHmac('sha256', key).update(text).digest('base64')
