import { isDeepStrictEqual } from 'node:util'
import { toHex } from '../../domain/encoding/digest.ts'
import { DomainError, relayerNotFound, relayerPaused } from '../../domain/errors.ts'
import type { SignatureKind } from '../../domain/observer.ts'
import type { Caller } from '../../domain/operation.ts'
import type { KeyBudget } from '../../domain/policies/budgets.ts'
import { overLimit } from '../../domain/policies/transaction-policies.ts'
import type { PendingAuditEntry } from '../../domain/rows.ts'
import type { Account, Spend } from '../../domain/transaction-rows.ts'
import { isUnsigned, KeyServiceUnavailable } from '../../keys/key-service.ts'
import type { RelayerSigner } from '../../keys/keyring.ts'
import type { Signature } from '../../keys/signer.ts'
import type { SignedPayment } from '../../store/queries/signed-payments.ts'
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

/**
 * What is signed. `check`: the policies; `checkBudget`: the budget of the caller's API key, if it has one. Both throw DomainError (403).
 */
export interface Signable {
  kind: SignatureKind
  content: Content
  check(rights: SigningRights): void
  checkBudget(budget: KeyBudget, rights: SigningRights): void
  /** Before each call of a key service; absent: the same checks, by the rights of that moment. */
  checkAgain?(): Promise<void>
}

/** Throws DomainError (403) unless the policies and the budget allow it. */
export function checkSignable(signable: Signable, rights: SigningRights): void {
  signable.check(rights)
  const { budget } = rights.caller
  if (budget) signable.checkBudget(budget, rights)
}

/** The amounts that limits count for a signature, and the account whose limits they are. */
export interface Charge {
  account: Account
  spending: Spend[]
}

/** What is counted already. `valid_before`: of the payment that was asked for first. */
interface Counted {
  charge: Charge
  spent: string | null
  valid_before?: number
}

/** What is signed, and what limits count for it by the rights of a moment. `payment`: its repetitions count no more than the first one. */
export interface Countable extends Signable {
  chargeOf(rights: SigningRights): Charge
  payment?: SignedPayment
  counted?: Counted
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
  const { kind, content, checkAgain } = signable
  auditEntry.subject = toHex(content.digest)
  checkSignable(signable, rights)
  const again = checkAgain ?? (async () => checkSignable(signable, await rightsTo(context, asker)))
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

/** Counts a signature by these rights. Its audit entry has the status 102. Throws DomainError (403, 422). */
export async function count(
  { store }: Pick<SignatureContext, 'store'>,
  { auditEntry }: Pick<SignatureAsker, 'auditEntry'>,
  rights: SigningRights,
  countable: Countable,
): Promise<Counted> {
  const { payment, counted, content } = countable
  auditEntry.subject = toHex(content.digest)
  checkSignable(countable, rights)
  const charge = countable.chargeOf(rights)
  const signature = { ...charge, spent: counted?.spent ?? null, payment }
  const taken = await store.spend(signature, { ...auditEntry, http_status: 102 })
  if (!('outcome' in taken)) return { ...taken, charge }
  if (taken.outcome === 'over_limit') throw overLimit(taken)
  const message = 'was used for another payment'
  throw new DomainError('idempotency_mismatch', [{ of: 'input', field: ['request_id'], message }])
}

/**
 * Signs what limits count. A change of the relayer or of the caller's budget applies to each signature that is handed out after it: where
 * the rights of that moment count other amounts, those are counted too, also after a key service has signed. What is counted is given back
 * when there is certainly no signature; not that of a payment, which others may be asking for too.
 */
export async function signCounted(
  context: SignatureContext,
  asker: SignatureAsker,
  first: SigningRights,
  countable: Countable,
): Promise<Signature> {
  let { counted } = countable
  const countUnder = async (rights: SigningRights): Promise<SigningRights> => {
    const { spending } = countable.chargeOf(rights)
    if (isDeepStrictEqual(spending, counted?.charge.spending ?? [])) return rights
    counted = await count(context, asker, rights, { ...countable, ...(counted && { counted }) })
    return countUnder(await rightsTo(context, asker))
  }
  const check = async () => checkSignable(countable, await countUnder(await rightsTo(context, asker)))
  let signature: Signature | Promise<Signature>
  try {
    signature = sign(context, asker, await countUnder(first), { ...countable, checkAgain: check })
    if (!(signature instanceof Promise)) return signature
    signature = await signature
  } catch (error) {
    const { spent = null, charge } = countable.payment ? {} : (counted ?? {})
    if (spent !== null && charge && isUnsigned(error)) await context.store.unspend(charge.account, spent)
    throw error
  }
  await check()
  return signature
}
