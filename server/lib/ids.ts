import { hash, randomBytes, randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'

const idBytes = 16
/** Drawn for many ids at once: one call costs as much as the rest of an id. */
const drawn = Buffer.alloc(256 * idBytes)
let used = drawn.length

/** A UUID of version 7 (RFC 9562, 5.7): ids that are made later sort later, to the millisecond. */
export function makeId(): string {
  if (used === drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  used += idBytes
  return v7({ random: drawn.subarray(used - idBytes, used) })
}

/** A new token of an API key: the key's id for the lookup, and 256 random bits, of which only the hash is stored. */
export function makeToken(id: string): { token: string; secret_hash: Buffer } {
  const secret = randomBytes(32).toString('base64url')
  return { token: `relayer_${id}_${secret}`, secret_hash: digest(secret) }
}

/** Text that is not a token gets the empty id, which no key has. Its digest is computed too, so that the time is the same. */
export function readToken(token: string): { id: string; secret_hash: Buffer } {
  const [, id = '', secret = token] = shape.exec(token) ?? []
  return { id, secret_hash: digest(secret) }
}

/** A token that a rotation replaced, and the end of its validity, in milliseconds since the epoch. */
export interface FormerToken {
  secret_hash: Uint8Array
  valid_until: number
}

const hashBytes = 32
const formerBytes = hashBytes + 8
/** Of one key. What is valid for the shortest time gives way. */
const maxFormer = 16

/** The bytes of former tokens that are still valid: of each its hash, and its end (64 bits, big-endian). Null: none. */
export function encodeFormerTokens(tokens: FormerToken[], now: number): Uint8Array | null {
  const valid = tokens.filter(({ valid_until }) => valid_until > now).sort((a, b) => b.valid_until - a.valid_until)
  const entries = valid.slice(0, maxFormer).map(({ secret_hash, valid_until }) => {
    const entry = Buffer.alloc(formerBytes)
    entry.set(secret_hash)
    entry.writeBigUInt64BE(BigInt(valid_until), hashBytes)
    return entry
  })
  return entries.length === 0 ? null : Buffer.concat(entries)
}

export function decodeFormerTokens(bytes: Uint8Array | null): FormerToken[] {
  const all = Buffer.from(bytes ?? [])
  return Array.from({ length: all.length / formerBytes }, (_, index) => {
    const entry = all.subarray(index * formerBytes, (index + 1) * formerBytes)
    return { secret_hash: entry.subarray(0, hashBytes), valid_until: Number(entry.readBigUInt64BE(hashBytes)) }
  })
}

const form = 'relayer_([0-9a-f-]{36})_([A-Za-z0-9_-]{43})'
const shape = new RegExp(`^${form}$`)
const inside = new RegExp(form)

/** Whether a text has a token in it, as where somebody pasted one into the place of an id. */
export const looksLikeToken = (text: string): boolean => inside.test(text)

/** Secrets are compared by their digests, which have one length and whose comparison reveals nothing about the secrets. */
export const digest = (text: string): Buffer => hash('sha256', text, 'buffer')
