import { notFound } from '../errors.ts'
import type { Handlers } from '../operation.ts'
import type { Store } from '../store/store.ts'
import { page } from './page.ts'

export interface TransactionParts {
  store: Store
  findSigner(relayer_id: string): Promise<{ relayer: { key: number } } | undefined>
}

export function transactions({ store, findSigner }: TransactionParts): Pick<Handlers, 'listTransactions'> {
  return {
    async listTransactions({ path, query }) {
      const held = await findSigner(path.relayer_id)
      if (!held) throw notFound(`Relayer with ID ${path.relayer_id} not found`)
      return page(
        query,
        (slice) => store.listTransactions(held.relayer.key, slice),
        (transaction) => transaction,
      )
    },
  }
}
