import { type ApiError, relayerNotFound, relayerPaused } from '../core/errors.ts'
import { toHex } from '../core/hex.ts'
import type { SignatureKind } from '../core/observer.ts'
import type { Caller, OperationId, OperationRequest } from '../core/operation.ts'
import type { HeldRelayer } from '../keys/keyring.ts'
import type { Signature } from '../keys/signer.ts'
import type { OperationDependencies } from './dependencies.ts'

/** A digest, and the bytes that have it. */
export interface Content {
  digest: Uint8Array
  preimage(): Uint8Array
}

/** The rights of a caller to a key, as they are now. Valid until the process does other work. */
export interface Rights {
  caller: Caller
  held: HeldRelayer
}

type SignRequest = Pick<OperationRequest<'signMessage'>, 'path' | 'authorize'>

/** What is signed. `check`: the policies; throws ApiError (403). */
export interface Signable {
  kind: SignatureKind
  content: Content
  check(rights: Rights): void
}

/** The way of every signature that a caller asks for to its key. */
export function createKeyUse({ observer, keyring }: Pick<OperationDependencies, 'observer' | 'keyring'>) {
  /**
   * Checks the caller, the relayer and its pause now. Every signature takes these rights, and no other work may run between this check
   * and the use of the key. Throws ApiError.
   */
  async function rightsTo(
    request: SignRequest,
    operation: OperationId,
    missing: (relayer_id: string) => ApiError = relayerNotFound,
  ): Promise<Rights> {
    const { relayer_id } = request.path
    const [caller, held] = await Promise.all([request.authorize(operation), keyring.find(relayer_id)])
    if (!held) throw missing(relayer_id)
    if (held.relayer.paused) throw relayerPaused()
    return { caller, held }
  }

  return { rightsTo, sign }

  /**
   * The only use of a key for a caller: the policies are checked here, by the rights of this moment. A key service may let the request
   * wait, so everything is checked again before each call of it.
   */
  function sign(
    request: SignRequest & Pick<OperationRequest<'signMessage'>, 'auditEntry'>,
    operation: OperationId,
    rights: Rights,
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
    const signature = rights.held.signer.sign(content.digest, content.preimage, undefined, again)
    return signature instanceof Promise ? signature.then(signed) : signed(signature)
  }
}
