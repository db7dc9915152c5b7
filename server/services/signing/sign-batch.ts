import type { SignatureResult, SignBatchItem } from '../../../generated/openapi.ts'
import { toHex } from '../../domain/encoding/digest.ts'
import { withBatchIndex } from '../../domain/errors.ts'
import type { OperationRequest } from '../../domain/operation.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import { readMessage, readTypedData, signatureResult } from './requests.ts'
import {
  checkSignable,
  rightsTo,
  type Signable,
  type SignatureAsker,
  type SignatureContext,
  type SigningRights,
  sign,
} from './sign.ts'

type BatchAsker = Omit<SignatureAsker, 'auditEntry'> & Pick<OperationRequest<'signBatch'>, 'beginAudit'>

/** The longest time that a batch blocks the event loop. */
const turnMs = 10

/** A failure names the item. */
const ofItem = <T>(index: number, work: () => T | Promise<T>): Promise<T> => withBatchIndex('items', index, work)

/**
 * Signs many items in their order. Every item is checked before the first is signed, and each has its own audit entry. Rights, pause
 * and policies are checked again for each item: an item that is refused meanwhile ends the batch.
 */
export async function signBatch(
  context: SignatureContext,
  { relayer_id, authorize, beginAudit }: BatchAsker,
  items: SignBatchItem[],
): Promise<SignatureResult[]> {
  const rest = pauses()
  const ready: Signable[] = []
  let rights: SigningRights | undefined
  for (const [index, item] of items.entries()) {
    const valid: SigningRights = rights ?? (await ofItem(index, () => rightsTo(context, { relayer_id, authorize })))
    await ofItem(index, () => {
      const signable = item.domain_separator !== undefined ? readTypedData(item) : readMessage(item)
      checkSignable(signable, valid)
      ready.push(signable)
    })
    rights = (await rest()) ? undefined : valid
  }
  const signatures: SignatureResult[] = []
  rights = undefined
  for (const [index, signable] of ready.entries()) {
    const valid: SigningRights = rights ?? (await ofItem(index, () => rightsTo(context, { relayer_id, authorize })))
    const { auditEntry, end } = beginAudit(signable.kind === 'message' ? 'signMessage' : 'signTypedDataHashes')
    auditEntry.subject = toHex(signable.content.digest)
    const asker = { relayer_id, authorize, auditEntry }
    signatures.push(signatureResult(await ofItem(index, () => sign(context, asker, valid, signable))))
    end(200)
    rights = (await rest()) ? undefined : valid
  }
  return signatures
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
