import type { WebhookEvent } from '../generated/client.ts'

export type { WebhookEvent } from '../generated/client.ts'

/** The reason why a delivery is not authentic. */
export class WebhookError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'WebhookError'
  }
}

export interface VerifyOptions {
  /** The accepted difference between `webhook-timestamp` and now, in seconds. Default 300. */
  toleranceSeconds?: number
  /** Milliseconds since the epoch. */
  now?: number
}

/** Bytes in an unshared buffer, which WebCrypto requires. */
type Bytes = Uint8Array<ArrayBuffer>

type HeaderSource = Headers | Record<string, string | string[] | undefined>

const prefix = 'whsec_'
const defaultToleranceSeconds = 300
const maxSignatures = 20

/**
 * Verifies a delivery by its Standard Webhooks 1.0.0 signature and returns its event. `body`: the received bytes, before any parsing.
 * `signingKey`: the text of `signing_key`, not empty. Throws WebhookError, and RangeError for a wrong key or option of the caller. An
 * event can arrive more than once: deduplicate by `id`, and use `sequence` to order events and to detect gaps.
 */
export async function verifyWebhook(
  signingKey: string,
  headers: HeaderSource,
  body: string | Uint8Array,
  { toleranceSeconds = defaultToleranceSeconds, now = Date.now() }: VerifyOptions = {},
): Promise<WebhookEvent> {
  if (!Number.isFinite(toleranceSeconds) || toleranceSeconds < 0 || !Number.isFinite(now))
    throw new RangeError('toleranceSeconds and now must be numbers, and toleranceSeconds not negative')
  if (signingKey === '' || signingKey === prefix) throw new RangeError('the signing key must not be empty')
  const id = headerOf(headers, 'webhook-id')
  // The signed text joins id, time and body by dots, so an id with a dot could move a part of it.
  if (id.includes('.')) throw new WebhookError('webhook-id must not contain a dot')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const signatures = headerOf(headers, 'webhook-signature').split(' ').slice(0, maxSignatures)
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookError('webhook-timestamp must be a Unix time in seconds')
  if (Math.abs(now / 1_000 - Number(timestamp)) > toleranceSeconds)
    throw new WebhookError(`webhook-timestamp must be within ${toleranceSeconds} s of now`)

  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body)
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), bytes)
  for (const key of candidateKeys(signingKey)) {
    for (const signature of signatures) if (await isSignature(key, signature, signed)) return parse(bytes)
  }
  throw new WebhookError('webhook-signature does not match the body and the signing key')
}

/** The headers of a delivery, for tests of a receiver. `timestamp`: seconds since the epoch. */
export async function signWebhook(
  signingKey: string,
  id: string,
  body: string,
  timestamp: number = Math.floor(Date.now() / 1_000),
): Promise<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature' | 'x-signature', string>> {
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`)
  const signatures: string[] = []
  for (const key of candidateKeys(signingKey)) signatures.push(`v1,${await hmac(key, signed)}`)
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
    'x-signature': await hmac(new TextEncoder().encode(signingKey), new TextEncoder().encode(body)),
  }
}

function headerOf(headers: HeaderSource, name: string): string {
  const found =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  if (typeof found !== 'string' || found === '') throw new WebhookError(`${name} is missing`)
  return found
}

/** The ways to decode a signing key, the same as in the service. */
function candidateKeys(key: string): Bytes[] {
  const isPrefixed = key.startsWith(prefix)
  const text = isPrefixed ? key.slice(prefix.length) : key
  const decoded = fromBase64(text)
  if (decoded && isPrefixed) return [decoded]
  const plain = new TextEncoder().encode(key)
  return decoded ? [decoded, plain] : [plain]
}

async function isSignature(key: Bytes, signature: string, signed: Bytes): Promise<boolean> {
  const bytes = signature.startsWith('v1,') ? fromBase64(signature.slice(3)) : undefined
  if (!bytes) return false
  // WebCrypto compares in constant time.
  return crypto.subtle.verify('HMAC', await importKey(key), bytes, signed)
}

async function hmac(key: Bytes, text: Bytes): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.sign('HMAC', await importKey(key), text))
  return btoa(String.fromCharCode(...bytes))
}

const importKey = (key: Bytes) =>
  crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify'])

function fromBase64(text: string): Bytes | undefined {
  if (text.length === 0 || text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

function concat(a: Bytes, b: Bytes): Bytes {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}

function parse(bytes: Bytes): WebhookEvent {
  try {
    const event: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    if (typeof event === 'object' && event !== null && !Array.isArray(event)) return event as WebhookEvent
  } catch {
    // Neither UTF-8 nor JSON.
  }
  throw new WebhookError('the body must be the JSON object of an event')
}
