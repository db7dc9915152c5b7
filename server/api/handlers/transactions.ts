import { type Handlers, type OperationRequest, Page } from '../../domain/operation.ts'
import type { TransactionFilter } from '../../domain/transaction-rows.ts'
import { readAddress, readTime } from '../../domain/values.ts'
import type { ServicesContext } from '../../services/context.ts'
import { cancelPending, cancelTransaction, publishTransaction } from '../../services/transactions/cancel.ts'
import { dryRun } from '../../services/transactions/dry-run.ts'
import { explainTransaction } from '../../services/transactions/explain.ts'
import {
  findSeenTransaction,
  getRelayerTransaction,
  getRelayerTransactionByNonce,
  getTransactionById,
  type Listed,
  listAttempts,
  listOfRelayers,
  listPoolTransactions,
  listRelayerTransactions,
} from '../../services/transactions/list.ts'
import { replace, speedUp } from '../../services/transactions/replace.ts'
import { send } from '../../services/transactions/send.ts'
import { sendBatch } from '../../services/transactions/send-batch.ts'
import { placeToWait } from '../../services/transactions/wait-for-status.ts'
import { badRequestAt, readFrom, shownDryRun } from '../http/errors.ts'

export const transactions = (context: ServicesContext) =>
  ({
    async sendTransaction({ path, query, body, caller, idempotency, auditEntry, authorize, nodes, onClose }) {
      const awaited = placeToWait(context, { query, caller, onClose })
      const asker = { idempotency, auditEntry, nodes, authorize }
      return awaited(await send(context, asker, path.relayer_id, { body }))
    },

    async sendTransactionBatch({ path, body, caller, idempotency, auditEntry, authorize, nodes }) {
      await context.countCalls(caller, body.transactions.length - 1)
      const asker = { idempotency, auditEntry, nodes, authorize }
      return Page.whole(await sendBatch(context, asker, path.relayer_id, body.transactions))
    },

    dryRunTransaction: async (request) =>
      shownDryRun(await dryRun(context, request, request.path.relayer_id, request.body)),

    getRelayerTransaction: ({ path }) => getRelayerTransaction(context, path),

    getRelayerTransactionByNonce: ({ path }) =>
      getRelayerTransactionByNonce(context, path.relayer_id, Number(path.nonce)),

    async listRelayerTransactions(request) {
      const { path, query } = request
      const listed = listedBy(request)
      if (query.nonce_from !== undefined) listed.filter.nonce_from = query.nonce_from
      if (query.nonce_to !== undefined) listed.filter.nonce_to = query.nonce_to
      return listRelayerTransactions(context, path.relayer_id, listed)
    },

    listTransactions: async (request) => {
      const { query, caller } = request
      if (query.pool_id !== undefined) return listPoolTransactions(context, query.pool_id, caller, listedBy(request))
      return listOfRelayers(context, caller.relayer_ids, listedBy(request))
    },

    getTransaction: ({ path, caller }) => getTransactionById(context, path.transaction_id, caller),

    listTransactionAttempts: ({ path, query }) => listAttempts(context, path, query),

    getTransactionExplanation: async ({ path, query, caller, nodes }) =>
      explainTransaction(context, nodes, {
        ...(await findSeenTransaction(context, path.transaction_id, caller)),
        max_fee_per_gas: query.max_fee_per_gas,
      }),

    async replaceTransaction({ path, body, ifMatch, auditEntry, authorize, nodes }) {
      const asker = { auditEntry, nodes, authorize }
      const { relayer_id, transaction_id: transactionId } = path
      return replace(context, asker, relayer_id, { transactionId, body, ifMatch })
    },

    async speedUpTransaction({ path, body, idempotency, auditEntry, authorize, nodes }) {
      const asker = { idempotency, auditEntry, nodes, authorize }
      const { relayer_id, transaction_id: transactionId } = path
      return speedUp(context, asker, relayer_id, { transactionId, body })
    },

    publishTransaction: ({ path, auditEntry }) => publishTransaction(context, auditEntry, path),

    cancelTransaction: ({ path, query, auditEntry }) =>
      cancelTransaction(context, auditEntry, path, {
        isReleased: query.submission === 'public',
        max_fee_per_gas: query.max_fee_per_gas,
      }),

    cancelPendingTransactions: ({ path, auditEntry }) => cancelPending(context, auditEntry, path.relayer_id),
  }) satisfies Partial<Handlers>

/** Characters of `data` as hex in one page. */
export const maxPageCharacters = 32 * 1024 * 1024
const maxPageKib = maxPageCharacters / 2 / 1024

type ListRequest = Pick<OperationRequest<'listTransactions'>, 'query' | 'holdAnswer'>

/** The page that a request asks for. One with too much data is refused; else the caller's share holds it until the response is written. */
const listedBy = ({ query, holdAnswer }: ListRequest): Listed => ({
  query,
  filter: readFilter(query),
  admit(dataBytes) {
    const characters = 2 * dataBytes
    if (characters > maxPageCharacters) {
      const size = `the data of these transactions has ${Math.ceil(dataBytes / 1024)} KiB`
      throw badRequestAt('/query/per_page', `is too large: ${size}, and a page has at most ${maxPageKib} KiB`)
    }
    holdAnswer(characters)
  },
})

function readFilter({
  status,
  created_after,
  created_before,
  reference,
  metadata,
  hash,
  to,
  search,
}: Omit<TransactionFilter, 'nonce_from' | 'nonce_to' | 'metadata'> & { metadata?: string }): TransactionFilter {
  return readFrom('/query', () => ({
    status,
    ...(created_after && { created_after: readTime(created_after, ['created_after']) }),
    ...(created_before && { created_before: readTime(created_before, ['created_before']) }),
    ...(reference !== undefined && { reference }),
    ...(metadata !== undefined && { metadata: readPair(metadata) }),
    ...(hash !== undefined && { hash: hash.toLowerCase() }),
    ...(to !== undefined && { to: readAddress(to, ['to']) }),
    ...(search !== undefined && { search: search.trim() }),
  }))
}

/** `name:value`. */
function readPair(text: string): { name: string; value: string } {
  const end = text.indexOf(':')
  return { name: text.slice(0, end), value: text.slice(end + 1) }
}
