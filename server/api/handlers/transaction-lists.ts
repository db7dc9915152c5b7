import type { Handlers, OperationRequest } from '../../domain/operation.ts'
import type { PageRequest } from '../../domain/rows.ts'
import { shownBehind } from '../../domain/show-transaction.ts'
import type { TransactionFilter, TransactionRow } from '../../domain/transaction-rows.ts'
import { readAddress, readTime } from '../../domain/values.ts'
import type { ServicesContext } from '../../services/context.ts'
import { badRequestAt, readFrom } from '../http/errors.ts'
import { page } from './page.ts'

/** Characters of `data` as hex in one page. */
export const maxPageCharacters = 32 * 1024 * 1024
const maxPageKib = maxPageCharacters / 2 / 1024
type ListDependencies = Pick<ServicesContext, 'store'>
type Asking = Pick<OperationRequest<'listAllTransactions'>, 'query' | 'holdAnswer'>

/** Refuses a page with too much data, and holds the caller's share of the memory for it until the response is written. */
const admission =
  ({ holdAnswer }: Pick<Asking, 'holdAnswer'>) =>
  (dataBytes: number) => {
    const characters = 2 * dataBytes
    if (characters > maxPageCharacters) {
      const size = `the data of these transactions has ${Math.ceil(dataBytes / 1024)} KiB`
      throw badRequestAt('/query/per_page', `is too large: ${size}, and a page has at most ${maxPageKib} KiB`)
    }
    holdAnswer(characters)
  }

/** The transactions of several relayers (undefined: of all), or those that were sent through a pool. */
interface Whose {
  relayer_ids: ReadonlySet<string> | undefined
  pool_row_id?: number
}

export function listTransactionsOf({ store }: ListDependencies, { relayer_ids, ...pool }: Whose, asking: Asking) {
  const { query } = asking
  const firsts = new Map<string, TransactionRow | undefined>()
  const read = async (slice: PageRequest) => {
    const admit = admission(asking)
    const filter = { ...readFilter(query), ...pool }
    const listing = await store.listTransactionsOf(relayer_ids, slice, filter, admit)
    if (listing === 'too_deep') throw badRequestAt('/query/page', tooDeep)
    for (const { relayer_id } of listing.items) {
      if (firsts.has(relayer_id)) continue
      const relayer = await store.getRelayer(relayer_id)
      firsts.set(relayer_id, relayer && (await store.firstInLine(relayer.row_id)))
    }
    return listing
  }
  return page(query, read, (transaction) =>
    shownBehind(transaction, firsts.get(transaction.relayer_id), pool.pool_row_id),
  )
}

/** Pages of transactions, of one relayer or of all, with filters. */
export function transactionLists(
  dependencies: ListDependencies & Pick<ServicesContext, 'keyring'>,
): Pick<Handlers, 'listTransactions' | 'listAllTransactions'> {
  const {
    store,
    keyring: { findRelayer },
  } = dependencies

  return {
    async listTransactions({ path, query, ...asking }) {
      const { row_id } = await findRelayer(path.relayer_id)
      const filter = readFilter(query)
      if (query.nonce_from !== undefined) filter.nonce_from = query.nonce_from
      if (query.nonce_to !== undefined) filter.nonce_to = query.nonce_to
      const first = await store.firstInLine(row_id)
      return page(
        query,
        (slice) => store.listTransactions(row_id, slice, filter, admission(asking)),
        (transaction) => shownBehind(transaction, first),
      )
    },

    listAllTransactions: (request) =>
      listTransactionsOf(dependencies, { relayer_ids: request.caller.relayer_ids }, request),
  }
}

const tooDeep = 'must end within the 10,000 newest transactions; narrow the list with created_before'

type FilterQuery = Omit<TransactionFilter, 'nonce_from' | 'nonce_to' | 'metadata'> & { metadata?: string }

/** `name:value`. */
function readPair(text: string): { name: string; value: string } {
  const end = text.indexOf(':')
  return { name: text.slice(0, end), value: text.slice(end + 1) }
}

function readFilter({
  status,
  created_after,
  created_before,
  reference,
  metadata,
  hash,
  to,
  search,
}: FilterQuery): TransactionFilter {
  return {
    status,
    ...(created_after && { created_after: readFrom('/query', () => readTime(created_after, ['created_after'])) }),
    ...(created_before && { created_before: readFrom('/query', () => readTime(created_before, ['created_before'])) }),
    ...(reference !== undefined && { reference }),
    ...(metadata !== undefined && { metadata: readPair(metadata) }),
    ...(hash !== undefined && { hash: hash.toLowerCase() }),
    ...(to !== undefined && { to: readFrom('/query', () => readAddress(to, ['to'])) }),
    ...(search !== undefined && { search: search.trim() }),
  }
}
