import type { Transaction, TransactionAttempt } from '../../../generated/openapi.ts'
import { DomainError, transactionNotFound } from '../../domain/errors.ts'
import { type Caller, type Page, page } from '../../domain/operation.ts'
import type { PageRequest, PoolRow, RelayerRow } from '../../domain/rows.ts'
import { isOfPool, shownBehind } from '../../domain/show.ts'
import type {
  AttemptRow,
  TransactionFilter,
  TransactionRow,
  WholeTransactionRow,
} from '../../domain/transaction-rows.ts'
import type { ServicesContext } from '../context.ts'
import { findPool, seenIn } from '../pools.ts'

type ListContext = Pick<ServicesContext, 'store' | 'keyring' | 'pools'>

interface Named {
  relayer_id: string
  transaction_id: string
}

/** A transaction of a relayer. Throws DomainError (404). */
async function findTransaction(
  { store, keyring }: ListContext,
  { relayer_id, transaction_id }: Named,
): Promise<{ relayer: RelayerRow; row: WholeTransactionRow }> {
  const relayer = await keyring.findRelayer(relayer_id)
  const row = await store.getTransaction(relayer.row_id, transaction_id)
  if (!row) throw transactionNotFound(transaction_id)
  return { relayer, row }
}

export async function getRelayerTransaction(context: ListContext, named: Named): Promise<Transaction> {
  const { relayer, row } = await findTransaction(context, named)
  return shownBehind(row, await context.store.firstInLine(relayer.row_id))
}

/** Undefined: the relayer has none at this nonce. */
export async function getRelayerTransactionByNonce(
  { store, keyring }: ListContext,
  relayerId: string,
  nonce: number,
): Promise<Transaction | undefined> {
  const { row_id, chain_id, address } = await keyring.findRelayer(relayerId)
  const row = await store.getTransactionByNonce(chain_id, address, nonce)
  if (row?.relayer_row_id !== row_id) return undefined
  return shownBehind(row, await store.firstInLine(row_id))
}

export async function listAttempts(
  context: ListContext,
  named: Named,
  query: Slice,
): Promise<Page<TransactionAttempt[]>> {
  const { row } = await findTransaction(context, named)
  return page(query, (slice) => context.store.listAttempts(row.row_id, slice), showAttempt(row))
}

const showAttempt =
  ({ hash, block_hash }: TransactionRow) =>
  ({
    taken_at,
    created_at,
    gas_limit: _gas_limit,
    refusal_kind: _kind,
    content_hash: _hash,
    sig: _sig,
    ...attempt
  }: AttemptRow): TransactionAttempt => ({
    ...attempt,
    signed_at: created_at,
    accepted_at: taken_at,
    is_mined: block_hash !== null && attempt.hash === hash,
  })

/** A transaction that was sent through the pool: what its relayers send otherwise is not the pool's. Throws DomainError (404). */
export async function findInPool(
  context: ListContext,
  { pool_id, transaction_id }: { pool_id: string; transaction_id: string },
  caller: Caller,
): Promise<{ pool: PoolRow; row: WholeTransactionRow; relayer(): Promise<RelayerRow> }> {
  const pool = await findPool(context, pool_id, caller)
  const row = await context.store.getTransactionOfPool(pool.row_id, transaction_id)
  if (!row || seenIn(pool, caller)?.has(row.relayer_id) === false) throw transactionNotFound(transaction_id)
  return {
    pool,
    row,
    /** Throws DomainError (404) when it was deleted. */
    async relayer() {
      const relayer = await context.keyring.findRelayer(row.relayer_id)
      if (relayer.row_id !== row.relayer_row_id) throw transactionNotFound(row.id)
      return relayer
    },
  }
}

interface Seen {
  row: WholeTransactionRow
  relayer: RelayerRow
  /** Given when only the right to its pool shows it: then nothing else of its relayer is told. */
  pool_row_id?: number | null
}

/** A transaction that the caller may see: by its relayer, or by the pool that it was sent through. Throws DomainError (404). */
export async function findSeenTransaction(
  { store }: ListContext,
  id: string,
  { relayer_ids, pool_ids }: Pick<Caller, 'relayer_ids' | 'pool_ids'>,
): Promise<Seen> {
  const row = await store.getTransactionById(id)
  const relayer = row && (await store.getRelayer(row.relayer_id))
  // A later relayer with the same id has none of the transactions of a deleted one.
  if (!row || relayer?.row_id !== row.relayer_row_id) throw transactionNotFound(id)
  if (relayer_ids === undefined || relayer_ids.has(relayer.id)) return { row, relayer }
  const pools = await Promise.all([...pool_ids].map((poolId) => store.getPool(poolId)))
  if (!pools.some((pool) => pool && isOfPool(row, pool.row_id))) throw transactionNotFound(id)
  return { row, relayer, pool_row_id: row.pool_row_id }
}

/** The relayer that has a transaction, or had it until the relayer was deleted. */
export async function relayerOfTransaction(
  { store }: Pick<ListContext, 'store'>,
  id: string,
): Promise<{ relayer_id: string; is_deleted: boolean } | undefined> {
  const row = await store.getTransactionById(id)
  if (!row) return undefined
  const relayer = await store.getRelayer(row.relayer_id)
  return { relayer_id: row.relayer_id, is_deleted: relayer?.row_id !== row.relayer_row_id }
}

export async function getTransactionById(context: ListContext, id: string, caller: Caller): Promise<Transaction> {
  const { row, pool_row_id } = await findSeenTransaction(context, id, caller)
  return shownBehind(row, await context.store.firstInLine(row.relayer_row_id), pool_row_id)
}

interface Slice {
  page: number
  per_page: number
}

/** `admit`: called with the bytes of the page's data before it is read. */
export interface Listed {
  query: Slice
  filter: TransactionFilter
  admit(dataBytes: number): void
}

export async function listRelayerTransactions(
  { store, keyring }: ListContext,
  relayerId: string,
  { query, filter, admit }: Listed,
): Promise<Page<Transaction[]>> {
  const { row_id } = await keyring.findRelayer(relayerId)
  const first = await store.firstInLine(row_id)
  return page(
    query,
    (slice) => store.listTransactions(row_id, slice, { ...filter, admit }),
    (transaction) => shownBehind(transaction, first),
  )
}

export async function listPoolTransactions(context: ListContext, poolId: string, caller: Caller, listed: Listed) {
  const pool = await findPool(context, poolId, caller)
  return listOfRelayers(context, seenIn(pool, caller), listed, pool.row_id)
}

/**
 * The transactions of several relayers (undefined: of all); with a pool, those that were sent through it. Throws DomainError (400) for a
 * page that is too deep.
 */
export function listOfRelayers(
  { store }: Pick<ListContext, 'store'>,
  relayerIds: ReadonlySet<string> | undefined,
  { query, filter, admit }: Listed,
  poolRowId?: number,
): Promise<Page<Transaction[]>> {
  const firsts = new Map<string, TransactionRow | undefined>()
  const read = async (slice: PageRequest) => {
    const own = poolRowId === undefined ? filter : { ...filter, pool_row_id: poolRowId }
    const listing = await store.listTransactionsOf(relayerIds, slice, { ...own, admit })
    if (listing === 'too_deep') throw new DomainError('invalid_request', [tooDeep])
    for (const { relayer_id } of listing.items) {
      if (firsts.has(relayer_id)) continue
      const relayer = await store.getRelayer(relayer_id)
      firsts.set(relayer_id, relayer && (await store.firstInLine(relayer.row_id)))
    }
    return listing
  }
  return page(query, read, (transaction) => shownBehind(transaction, firsts.get(transaction.relayer_id), poolRowId))
}

const tooDeep = {
  of: 'page',
  field: [],
  message: 'must end within the 10,000 newest transactions; narrow the list with created_before',
} as const
