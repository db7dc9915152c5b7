import type { SignatureResult, SignMessageRequest } from '../../../generated/openapi.ts'
import { badRequest } from '../../domain/errors.ts'
import { type Caller, type Handlers, type OperationRequest, Page } from '../../domain/operation.ts'
import type { Signature } from '../../keys/signer.ts'
import { toHex } from '../../lib/hex.ts'
import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import { withBatchIndex } from '../batch-errors.ts'
import type { Signable, SigningContext } from './sign-with-policy.ts'

type Request = OperationRequest<'signBatch'>
type Item = Request['body']['items'][number]

/** The signature of an item, to be made later. */
export interface ReadyToSign extends Signable {
  digest: string
  operation: 'signMessage' | 'signTypedData'
}

export interface SignBatchDependencies {
  /** Throws DomainError (401, 403, 404). */
  rightsTo(request: Request, operation: 'signBatch'): Promise<SigningContext>
  /** Prepares the signature of an item. Throws DomainError (400). */
  prepare(item: Item): ReadyToSign
  /** Checks the policies and signs. Throws DomainError (403). */
  sign(
    request: Pick<Request, 'path' | 'authorize' | 'auditEntry'>,
    operation: 'signBatch',
    rights: SigningContext,
    item: Signable,
  ): Signature | Promise<Signature>
  /** Counts this many additional requests of the caller. Throws DomainError (429). */
  countCalls(caller: Caller, count: number): Promise<void>
}

/** The longest time that a batch blocks the event loop. */
const turnMs = 10

/**
 * Signs many items in their order. Every item is checked before the first is signed, and each has its own audit entry. Rights, pause
 * and policies are checked again for each item: an item that is refused meanwhile ends the batch.
 */
export function signBatch({ rightsTo, prepare, sign, countCalls }: SignBatchDependencies): Pick<Handlers, 'signBatch'> {
  return {
    async signBatch(request) {
      const { items } = request.body
      await countCalls(request.caller, items.length - 1)
      const rest = pauses()
      const ready: ReadyToSign[] = []
      let rights: SigningContext | undefined
      for (const [index, item] of items.entries()) {
        rights ??= await withBatchIndex('items', index, () => rightsTo(request, 'signBatch'))
        const valid = rights
        await withBatchIndex('items', index, () => {
          const prepared = prepare(item)
          prepared.check(valid)
          ready.push(prepared)
        })
        if (await rest()) rights = undefined
      }
      const signatures: SignatureResult[] = []
      rights = undefined
      for (const [index, item] of ready.entries()) {
        const { digest, operation, ...signable } = item
        rights ??= await withBatchIndex('items', index, () => rightsTo(request, 'signBatch'))
        const valid = rights
        const { auditEntry, end } = request.beginAudit(operation)
        auditEntry.subject = digest
        const { path, authorize } = request
        const made = await withBatchIndex('items', index, () =>
          sign({ path, authorize, auditEntry }, 'signBatch', valid, signable),
        )
        signatures.push(signatureResult(made))
        end(200)
        if (await rest()) rights = undefined
      }
      return Page.whole(signatures)
    },
  }
}

/** Yields to other requests after a time limit. Resolves to whether it did. */
function pauses(): () => Promise<boolean> {
  let began = performance.now()
  return async () => {
    if (performance.now() - began < turnMs) return false
    await yieldToEventLoop()
    began = performance.now()
    return true
  }
}

const giveOne = 'give exactly one of message and message_hex'

/** The text or the bytes to sign. */
export function messageOf({ message, message_hex }: SignMessageRequest): string | Uint8Array {
  if (message !== undefined && message_hex !== undefined) throw badRequest(['message_hex'], giveOne)
  if (message !== undefined) return message
  if (message_hex !== undefined) return Buffer.from(message_hex.slice(2), 'hex')
  throw badRequest(['message'], giveOne)
}

/** 32 bytes from 64 hex digits, with or without 0x. */
export function hash<Name extends string>(name: Name, body: Record<Name, string>): Uint8Array {
  const text = body[name]
  const bytes = Buffer.from(text.startsWith('0x') ? text.slice(2) : text, 'hex')
  // The contract's pattern requires 64 digits; this guards against a change of the pattern.
  if (bytes.length !== 32) throw badRequest([name], 'must be 32 bytes: 64 hex digits, with or without 0x')
  return bytes
}

export function signatureResult({ rs, recovery }: Signature): SignatureResult {
  const hex = toHex(rs)
  const v = 27 + recovery
  return { r: hex.slice(0, 66), s: `0x${hex.slice(66)}`, sig: `${hex}${v.toString(16)}`, v }
}
