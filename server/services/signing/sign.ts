import { toHex } from '../../domain/encoding/digest.ts'
import { type DomainError, relayerNotFound, relayerPaused } from '../../domain/errors.ts'
import type { SignatureKind } from '../../domain/observer.ts'
import type { Caller } from '../../domain/operation.ts'
import type { KeyBudget } from '../../domain/policies/budgets.ts'
import { overLimit } from '../../domain/policies/transaction-policies.ts'
import type { PendingAuditEntry } from '../../domain/rows.ts'
import type { Account, Spend } from '../../domain/transaction-rows.ts'
import { isUnsigned, KeyServiceUnavailable } from '../../keys/key-service.ts'
import type { RelayerSigner } from '../../keys/keyring.ts'
import type { Signature } from '../../keys/signer.ts'
import type { ServicesContext } from '../context.ts'

/* The way of every signature that a caller asks for to its key. */

export type SignatureContext = Pick<ServicesContext, 'observer' | 'keyring' | 'store'>

/** Who asks a relayer for a signature. */
export interface SignatureAsker {
  relayer_id: string
  /** Checks the rights of the caller as they are now. Throws DomainError (401, 403, 404). */
  authorize(): Promise<Caller>
  /** The digest becomes its subject. */
  auditEntry: PendingAuditEntry
}

/** The rights of a caller to a key, as they are now. Valid until the process does other work. */
export interface SigningRights {
  caller: Caller
  held: RelayerSigner
}

/** A digest, and the bytes that have it. */
export interface Content {
  digest: Uint8Array
  preimage(): Uint8Array
}

/** What is signed. `check`: the policies; `checkBudget`: the budget of the caller's API key, if it has one. Both throw DomainError (403). */
export interface Signable {
  kind: SignatureKind
  content: Content
  check(rights: SigningRights): void
  checkBudget(budget: KeyBudget, rights: SigningRights): void
}

/** Throws DomainError (403) unless the policies and the budget allow it. */
export function checkSignable(signable: Signable, rights: SigningRights): void {
  signable.check(rights)
  const { budget } = rights.caller
  if (budget) signable.checkBudget(budget, rights)
}

/** The amounts that daily limits count for a signature, and the account whose limits they are. */
export interface Charge {
  account: Account
  spending: Spend[]
}

/**
 * Checks the caller, the relayer and its pause now. Every signature takes these rights, and no other work may run between this check
 * and the use of the key. Throws DomainError.
 */
export async function rightsTo(
  { keyring }: Pick<SignatureContext, 'keyring'>,
  { relayer_id, authorize }: Pick<SignatureAsker, 'relayer_id' | 'authorize'>,
  missing: (relayerId: string) => DomainError = relayerNotFound,
): Promise<SigningRights> {
  const [caller, held] = await Promise.all([authorize(), keyring.find(relayer_id)])
  if (!held) throw missing(relayer_id)
  if (held.relayer.paused) throw relayerPaused()
  return { caller, held }
}

/**
 * The only use of a key for a caller: the policies are checked here, by the rights of this moment. A key service may let the request
 * wait, so everything is checked again before each call of it.
 */
export function sign(
  context: SignatureContext,
  asker: SignatureAsker,
  rights: SigningRights,
  signable: Signable,
): Signature | Promise<Signature> {
  const { auditEntry } = asker
  const { kind, content } = signable
  auditEntry.subject = toHex(content.digest)
  checkSignable(signable, rights)
  const again = async () => checkSignable(signable, await rightsTo(context, asker))
  const signed = (signature: Signature) => {
    if (signature.request_id !== undefined) auditEntry.key_request_id = signature.request_id
    context.observer.signed?.(kind)
    return signature
  }
  const failed = (error: unknown) => {
    const requestId = error instanceof KeyServiceUnavailable ? error.fault?.request_id : undefined
    if (requestId !== undefined) auditEntry.key_request_id = requestId
    throw error
  }
  const signature = rights.held.signer.sign(content.digest, content.preimage, undefined, again)
  return signature instanceof Promise ? signature.then(signed, failed) : signed(signature)
}

/**
 * Signs after the charge is reserved, which is given back when there is certainly no signature. The audit entry of the reservation has
 * the result 102; the operation's own entry follows with the result of the signature.
 */
export async function signCounted(
  context: SignatureContext,
  asker: SignatureAsker,
  rights: SigningRights,
  { charge, ...signable }: Signable & { charge: Charge },
): Promise<Signature> {
  if (charge.spending.length === 0) return sign(context, asker, rights, signable)
  const { store } = context
  const { account, spending } = charge
  asker.auditEntry.subject = toHex(signable.content.digest)
  checkSignable(signable, rights)
  const { chain_id, address } = account
  const taken = await store.spend({ chain_id, address }, spending, { ...asker.auditEntry, result: 102 })
  if ('outcome' in taken) throw overLimit(taken)
  try {
    return await sign(context, asker, await rightsTo(context, asker), signable)
  } catch (error) {
    if (taken.spent !== null && isUnsigned(error)) await store.unspend({ chain_id, address }, taken.spent)
    throw error
  }
}
