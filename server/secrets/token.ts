import { hash, randomBytes } from 'node:crypto'

/** A token of an API key: its id, to find it by, and 256 random bits, of which only a digest is kept. */
export function makeToken(id: string): { token: string; secret_hash: Buffer } {
  const secret = randomBytes(32).toString('base64url')
  return { token: `relayer_${id}_${secret}`, secret_hash: digest(secret) }
}

/** What is no token of an API key has the empty id, which no key has; it is read as long as one that is. */
export function readToken(token: string): { id: string; secret_hash: Buffer } {
  const [, id = '', secret = token] = shape.exec(token) ?? []
  return { id, secret_hash: digest(secret) }
}

const shape = /^relayer_([0-9a-f-]{36})_([A-Za-z0-9_-]{43})$/

/** Secrets are compared by their digests: those have one length, and comparing them tells nothing, however long it takes. */
export const digest = (text: string): Buffer => hash('sha256', text, 'buffer')
