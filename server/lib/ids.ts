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

const form = 'relayer_([0-9a-f-]{36})_([A-Za-z0-9_-]{43})'
const shape = new RegExp(`^${form}$`)
const inside = new RegExp(form)

/** Whether a text has a token in it, as where somebody pasted one into the place of an id. */
export const looksLikeToken = (text: string): boolean => inside.test(text)

/** Secrets are compared by their digests, which have one length and whose comparison reveals nothing about the secrets. */
export const digest = (text: string): Buffer => hash('sha256', text, 'buffer')
