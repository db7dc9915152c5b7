import type { SignatureResult } from '../../generated/openapi.ts'
import { nextTurn } from '../next-turn.ts'
import type { Caller, Handlers, OperationRequest } from '../operation.ts'
import { list } from '../operation.ts'
import type { PendingAuditEntry } from '../store/rows.ts'
import { ofMember } from './members.ts'

type Item = OperationRequest<'signBatch'>['body']['items'][number]

/** A signature that the policies allow, to be made later. */
export interface ReadyToSign {
  digest: string
  operation: 'signMessage' | 'signTypedData'
  sign(auditEntry: PendingAuditEntry): Promise<SignatureResult>
}

export interface SignBatchDependencies {
  /** Checks an item and prepares its signature. Throws ApiError (400, 403, 404). */
  prepare(relayer_id: string, item: Item, caller: Caller): Promise<ReadyToSign>
  /** Counts this many additional requests of the caller. Throws ApiError (429). */
  countCalls(caller: Caller, count: number): Promise<void>
}

/** The longest time that a batch blocks the event loop. */
const turn_ms = 10

/** Signs many items in their order. Every item is checked before the first is signed, and each has its own audit entry. */
export function signBatch({ prepare, countCalls }: SignBatchDependencies): Pick<Handlers, 'signBatch'> {
  return {
    async signBatch({ path, body, caller, beginAudit }) {
      const { items } = body
      await countCalls(caller, items.length - 1)
      const rest = pauses()
      const ready: ReadyToSign[] = []
      for (const [index, item] of items.entries()) {
        ready.push(await ofMember('items', index, () => prepare(path.relayer_id, item, caller)))
        await rest()
      }
      const signatures: SignatureResult[] = []
      for (const { digest, operation, sign } of ready) {
        const { auditEntry, end } = beginAudit(operation)
        auditEntry.subject = digest
        signatures.push(await sign(auditEntry))
        end(200)
        await rest()
      }
      const count = signatures.length
      return list(signatures, { current_page: 1, per_page: count, total_items: count })
    },
  }
}

/** Yields to other requests after a time limit. */
function pauses(): () => Promise<void> {
  let began = performance.now()
  return async () => {
    if (performance.now() - began < turn_ms) return
    await nextTurn()
    began = performance.now()
  }
}
