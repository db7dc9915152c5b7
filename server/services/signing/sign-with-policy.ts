import { type DomainError, relayerNotFound, relayerPaused } from '../../domain/errors.ts'
import type { SignatureKind } from '../../domain/observer.ts'
import type { Caller, OperationId, OperationRequest } from '../../domain/operation.ts'
import { overLimit } from '../../domain/policies/transaction-policies.ts'
import type { Account, Spend } from '../../domain/transaction-rows.ts'
import { isUnsigned, KeyServiceUnavailable } from '../../keys/key-service.ts'
import type { RelayerSigner } from '../../keys/keyring.ts'
import type { Signature } from '../../keys/signer.ts'
import { toHex } from '../../lib/hex.ts'
import type { ServicesContext } from '../context.ts'

/** A digest, and the bytes that have it. */
export interface Content {
  digest: Uint8Array
  preimage(): Uint8Array
}

/** The rights of a caller to a key, as they are now. Valid until the process does other work. */
export interface SigningContext {
  caller: Caller
  held: RelayerSigner
}

type SignRequest = Pick<OperationRequest<'signMessage'>, 'path' | 'authorize'>

/** What is signed. `check`: the policies; throws DomainError (403). */
export interface Signable {
  kind: SignatureKind
  content: Content
  check(rights: SigningContext): void
}

/** The amounts that daily limits count for a signature, and the account whose limits they are. */
export interface Charge {
  account: Account
  spending: Spend[]
}

/** The way of every signature that a caller asks for to its key. */
export function createKeyUse({ observer, keyring, store }: Pick<ServicesContext, 'observer' | 'keyring' | 'store'>) {
  /**
   * Checks the caller, the relayer and its pause now. Every signature takes these rights, and no other work may run between this check
   * and the use of the key. Throws DomainError.
   */
  async function rightsTo(
    request: SignRequest,
    operation: OperationId,
    missing: (relayerId: string) => DomainError = relayerNotFound,
  ): Promise<SigningContext> {
    const { relayer_id } = request.path
    const [caller, held] = await Promise.all([request.authorize(operation), keyring.find(relayer_id)])
    if (!held) throw missing(relayer_id)
    if (held.relayer.paused) throw relayerPaused()
    return { caller, held }
  }

  return { rightsTo, sign, signCounted }

  /**
   * The only use of a key for a caller: the policies are checked here, by the rights of this moment. A key service may let the request
   * wait, so everything is checked again before each call of it.
   */
  function sign(
    request: SignRequest & Pick<OperationRequest<'signMessage'>, 'auditEntry'>,
    operation: OperationId,
    rights: SigningContext,
    { kind, content, check }: Signable,
  ): Signature | Promise<Signature> {
    const { auditEntry } = request
    auditEntry.subject = toHex(content.digest)
    check(rights)
    const again = async () => check(await rightsTo(request, operation))
    const signed = (signature: Signature) => {
      if (signature.request_id !== undefined) auditEntry.key_request_id = signature.request_id
      observer.signed?.(kind)
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
  async function signCounted(
    request: SignRequest & Pick<OperationRequest<'signMessage'>, 'auditEntry'>,
    operation: OperationId,
    rights: SigningContext,
    signable: Signable,
    charge: Charge | undefined,
  ): Promise<Signature> {
    if (!charge || charge.spending.length === 0) return sign(request, operation, rights, signable)
    const { account, spending } = charge
    request.auditEntry.subject = toHex(signable.content.digest)
    signable.check(rights)
    const { chain_id, address } = account
    const taken = await store.spend({ chain_id, address }, spending, { ...request.auditEntry, result: 102 })
    if ('outcome' in taken) throw overLimit(taken)
    try {
      return await sign(request, operation, await rightsTo(request, operation), signable)
    } catch (error) {
      if (taken.spent !== null && isUnsigned(error)) await store.unspend({ chain_id, address }, taken.spent)
      throw error
    }
  }
}
