import type { AcceptedTransaction } from '../../../generated/openapi.ts'
import { transactionNotFound } from '../../domain/errors.ts'
import type { OperationRequest } from '../../domain/operation.ts'
import { shownTransaction as show } from '../../domain/show-transaction.ts'
import type { ServicesContext } from '../context.ts'
import { WaitPlace } from './wait-for-status.ts'

type WaitContext = Pick<ServicesContext, 'store' | 'keyring' | 'sending' | 'shares' | 'unexpected'>
type Asking = Pick<OperationRequest<'sendTransaction'>, 'query' | 'caller' | 'onClose'>
type Awaited = (accepted: AcceptedTransaction) => Promise<AcceptedTransaction>

/**
 * Takes the place of a request among those that wait, before anything is accepted. Throws DomainError (429, 503). The result waits until the
 * accepted transaction has the state that the request names, has ended, or the time is over. It is accepted: whatever fails from then on,
 * the answer shows what is known of it.
 */
export function placeToWait({ store, keyring, sending, shares, unexpected }: WaitContext, asking: Asking): Awaited {
  const { wait, wait_seconds } = asking.query
  if (wait === 'none') return async (accepted) => accepted
  const place = new WaitPlace(asking, shares.waits)
  return async (accepted) => {
    const { id, relayer_id, warnings } = accepted
    try {
      const { row_id } = await keyring.findRelayer(relayer_id)
      await sending.waitUntil({ transaction_id: id, until: wait, wait_ms: wait_seconds * 1_000 }, place)
      const row = await store.getTransaction(row_id, id)
      if (!row) throw transactionNotFound(id)
      return { ...show(row), warnings }
    } catch (error) {
      unexpected(error)
      return accepted
    }
  }
}
