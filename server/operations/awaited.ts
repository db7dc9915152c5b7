import type { AcceptedTransaction } from '../../generated/openapi.ts'
import { transactionNotFound } from '../core/errors.ts'
import { shownTransaction as show } from '../core/shown-transaction.ts'
import type { OperationDependencies } from './dependencies.ts'

interface Wait {
  wait: 'none' | 'submitted' | 'mined' | 'confirmed'
  wait_seconds: number
}

/**
 * Waits until an accepted transaction has the state that the request names, has ended, or the time is over. It is accepted: whatever fails
 * from now on, the answer shows what is known of it.
 */
export const createAwaited =
  ({
    store,
    keyring,
    sending,
    unexpected,
  }: Pick<OperationDependencies, 'store' | 'keyring' | 'sending' | 'unexpected'>) =>
  async (accepted: AcceptedTransaction, { wait, wait_seconds }: Wait): Promise<AcceptedTransaction> => {
    if (wait === 'none') return accepted
    let known = accepted
    try {
      const { row_id } = await keyring.findRelayer(accepted.relayer_id)
      const read = async () => {
        const row = await store.getTransaction(row_id, accepted.id)
        if (!row) throw transactionNotFound(accepted.id)
        known = { ...show(row), warnings: accepted.warnings }
        return known
      }
      await sending.waitUntil(read, wait, wait_seconds * 1_000)
      return await read()
    } catch (error) {
      unexpected(error)
      return known
    }
  }
