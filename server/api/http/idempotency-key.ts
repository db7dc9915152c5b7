import { errorOf } from '../../domain/errors.ts'
import type { Caller, Idempotency } from '../../domain/operation.ts'

/** Reads the header Idempotency-Key. Throws DomainError (400). */
export function readIdempotency(text: string | undefined, { id }: Caller): Idempotency | undefined {
  if (text === undefined) return undefined
  // A structured field's string (in quotes), or bare.
  const key = text.startsWith('"') ? text.slice(1, -1) : text
  if (key === '') throw errorOf('invalid_request', 'idempotency_key', 'must not be empty')
  return { caller: id, key }
}
