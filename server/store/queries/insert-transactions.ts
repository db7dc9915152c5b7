import type { Transaction } from '../../../generated/openapi.ts'
import type {
  BatchCreation,
  InsertResult,
  NewTransaction,
  PoolInsertResult,
  PoolTransaction,
} from '../../domain/new-transaction.ts'
import type { PendingAuditEntry } from '../../domain/rows.ts'
import type { TransactionRow } from '../../domain/transaction-rows.ts'
import { keysIn } from './daily-limits.ts'
import { type Database, type DatabaseTransaction, type GroupedChange, sql } from './database.ts'
import { prepareEvents, writeStatusEvents } from './events.ts'
import { knownOf, rememberAnswers } from './idempotency.ts'
import {
  acceptInPool,
  answerAgain,
  answerBatchAgain,
  deduplicationOf,
  exclusiveNamesOf,
  type InsertState,
  idempotencyScope,
  insertTransaction,
  type PoolState,
  Refused,
  rememberAnswer,
} from './insert-rules.ts'
import { readInsertState, writeInserted } from './insert-state.ts'
import { readPoolState, writeOrders } from './pools.ts'
import { hexOf } from './transaction-rows.ts'
import { endUnmined, isSigned, transactionById, withoutData } from './transactions.ts'

const moveDeduplicationId = sql(
  'UPDATE deduplication_ids SET transaction_row_id = $to WHERE transaction_row_id = $from',
)

const orderOfTransaction = sql('SELECT 1 FROM pool_orders WHERE transaction_row_id = $row_id')

/** Of transactions that nobody asked for: they fill gaps of nonces. As in the audit trail. */
const ownCaller = 'service'

interface Ahead {
  state: InsertState
  pools: PoolState
}

/** A transaction of one relayer, or one that a relayer of a pool takes. */
type Wanted = NewTransaction | PoolTransaction
/** What relayers share of a transaction, and no row holds before it is accepted. */
const namesToLock = (its: NewTransaction): string[] => [
  ...exclusiveNamesOf(its),
  ...[deduplicationOf(its) ?? []].flat(),
  ...keysIn(its.spending),
]

type Accepted = ReturnType<typeof acceptInPool>

const isForPool = (wanted: Wanted): wanted is PoolTransaction => 'candidates' in wanted
const candidatesOf = (wanted: Wanted): NewTransaction[] =>
  isForPool(wanted) ? wanted.candidates.map(({ transaction }) => transaction) : [wanted]

/** What the acceptance of some transactions depends on. The caller holds the locks of the relayers. */
async function readAhead(dbTransaction: DatabaseTransaction, wanted: Wanted[]): Promise<Ahead> {
  const candidates = wanted.flatMap(candidatesOf)
  const relayers = wanted.flatMap((one) => (isForPool(one) ? [] : one.relayer_row_id))
  const [state, pools] = await Promise.all([
    readInsertState(dbTransaction, candidates, dbTransaction.effects.now()),
    readPoolState(dbTransaction, wanted.filter(isForPool)),
    prepareEvents(dbTransaction, relayers),
  ])
  return { state, pools }
}

async function create(
  dbTransaction: DatabaseTransaction,
  wanted: { input: Wanted; auditEntry?: PendingAuditEntry | undefined }[],
  { state, pools }: Ahead,
): Promise<Accepted[]> {
  const createdAt = new Date(dbTransaction.effects.now()).toISOString()
  const creations = wanted.map(({ input, auditEntry }) => {
    const origin = { created_at: createdAt, caller: auditEntry?.caller ?? ownCaller }
    return isForPool(input)
      ? acceptInPool(state, pools, origin, input)
      : { creation: insertTransaction(state, { ...origin, pool_row_id: null, pool_id: null }, input) }
  })
  await Promise.all([
    writeInserted(dbTransaction, state),
    writeOrders(
      dbTransaction,
      creations.flatMap((its: Accepted) => its.order ?? []),
    ),
    writeStatusEvents(
      dbTransaction,
      state.accepted.map(({ shown }) => shown),
    ),
  ])
  return creations
}

const subjectOf = ({ transaction: { id, relayer_id } }: { transaction: Pick<Transaction, 'id' | 'relayer_id'> }) => ({
  subject: id,
  relayer_id,
})

/** Accepts one transaction. */
const creations: GroupedChange<Wanted, PoolInsertResult, Ahead> = {
  isFirst: true,
  toLock: (wanted) => ({
    relayers: candidatesOf(wanted).flatMap(({ relayer_row_id, refill }) =>
      refill ? [relayer_row_id, refill.relayer_row_id] : relayer_row_id,
    ),
    pools: isForPool(wanted) ? [wanted.pool_row_id] : [],
    names: candidatesOf(wanted).flatMap(namesToLock),
  }),
  readAhead,
  async make(dbTransaction, requested, ahead) {
    const made = await create(dbTransaction, requested, ahead)
    // A refused transaction has no effect, so it gets no audit entry.
    for (const [index, { auditEntry }] of requested.entries()) {
      const { creation } = made[index] as Accepted
      if (auditEntry && creation.outcome === 'created') dbTransaction.record(auditEntry, subjectOf(creation))
    }
    return made.map(({ creation }) => creation)
  },
}

/** In one database transaction: idempotency row, spending limits, next nonce, transaction row, event. */
export const createTransaction = (
  database: Database,
  wanted: NewTransaction,
  auditEntry?: PendingAuditEntry,
): Promise<InsertResult> => database.groupCommit(creations, wanted, auditEntry) as Promise<InsertResult>

/**
 * `createTransaction` for the relayer of a pool that is chosen in the same database transaction. A refusal is that of the first
 * candidate.
 */
export const createPoolTransaction = (
  database: Database,
  wanted: PoolTransaction,
  auditEntry?: PendingAuditEntry,
): Promise<PoolInsertResult> => database.groupCommit(creations, wanted, auditEntry)

/**
 * Withdraws a transaction that was never signed, and accepts it again for another relayer, in one database transaction. `signed`: it may
 * be on its way, or has ended. `ordered`: it has an ordering key. Otherwise as `createPoolTransaction`.
 */
export async function moveInPool(
  database: Database,
  { relayer_row_id, id }: { relayer_row_id: number; id: string },
  wanted: PoolTransaction,
  auditEntry: PendingAuditEntry,
): Promise<
  PoolInsertResult | { outcome: 'missing' } | { outcome: 'signed'; row: TransactionRow } | { outcome: 'ordered' }
> {
  try {
    return await database.write(async (dbTransaction) => {
      const { transaction: other } = wanted.candidates[0] as PoolTransaction['candidates'][number]
      await dbTransaction.lockRelayers({
        relayers: [relayer_row_id, ...candidatesOf(wanted).map((one) => one.relayer_row_id)],
        pools: [wanted.pool_row_id],
        names: candidatesOf(wanted).flatMap(namesToLock),
      })
      const { idempotency } = other
      const known = idempotency && (await knownOf(dbTransaction, idempotencyScope(0, wanted.pool_row_id), idempotency))
      if (known) return answerAgain(known, idempotency.body_hash)
      const row = await transactionById(dbTransaction, relayer_row_id, id)
      if (row?.pool_row_id !== wanted.pool_row_id) return { outcome: 'missing' }
      const isFree = row.status === 'pending' && row.intent === 'send' && !(await isSigned(dbTransaction, row.row_id))
      if (!isFree) return { outcome: 'signed', row: withoutData(row) }
      if (await dbTransaction.one(orderOfTransaction, { row_id: row.row_id })) return { outcome: 'ordered' }
      const statusReason = `Moved to another relayer as ${other.id}`
      const withdrawal = { intent: 'cancel' as const, status_reason: statusReason, moved_to_transaction_id: other.id }
      await endUnmined(dbTransaction, { relayer_row_id, id }, withdrawal)
      const [accepted] = await create(
        dbTransaction,
        [{ input: wanted, auditEntry }],
        await readAhead(dbTransaction, [wanted]),
      )
      const { creation } = accepted as Accepted
      if (!('row_id' in creation)) throw new Refused(0, creation)
      await dbTransaction.run(moveDeduplicationId, { from: row.row_id, to: creation.row_id })
      dbTransaction.record(auditEntry, subjectOf(creation))
      return creation
    })
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return error.creation
  }
}

/**
 * `createTransaction` for several of one account, all or none, in one database transaction; for those of a pool, each with the only
 * candidate. Each gets its own audit entry, made from `auditEntry`. `idempotency`: for all of them together.
 */
export async function createTransactions(
  database: Database,
  auditEntry: PendingAuditEntry,
  transactions: (NewTransaction | PoolTransaction)[],
  idempotency: NewTransaction['idempotency'],
): Promise<BatchCreation> {
  try {
    return await database.write(async (dbTransaction) => {
      const first = transactions[0] as Wanted
      const { relayer_row_id } = candidatesOf(first)[0] as NewTransaction
      await dbTransaction.lockRelayers({
        relayers: [relayer_row_id],
        pools: isForPool(first) ? [first.pool_row_id] : [],
        names: transactions.flatMap(candidatesOf).flatMap(namesToLock),
      })
      const holder = idempotencyScope(relayer_row_id, idempotency?.pool_row_id)
      const known = idempotency && (await knownOf(dbTransaction, holder, idempotency))
      if (known) return answerBatchAgain(known, idempotency.body_hash)
      const ahead = await readAhead(dbTransaction, transactions)
      const requested = transactions.map((input) => ({ input, auditEntry }))
      const creations = await create(dbTransaction, requested, ahead)
      const accepted = creations.map(({ creation }, index) => {
        if (!('row_id' in creation)) throw new Refused(index, creation)
        dbTransaction.record(auditEntry, subjectOf(creation))
        return creation.transaction
      })
      const inserted = ahead.state.accepted
      const last = inserted.at(-1)
      if (idempotency && last) {
        const warnings = new Map(accepted.map((its) => [its.id, its.warnings]))
        const answer = JSON.stringify(
          inserted.map(({ row, data }) => ({
            ...rememberAnswer(row, warnings.get(row.id) ?? []),
            data: hexOf(data),
          })),
        )
        const row = { relayer_row_id: holder, transaction_row_id: last.row.row_id, answer, data_row_id: null }
        await rememberAnswers(dbTransaction, [{ ...idempotency, ...row }])
      }
      return { outcome: 'created', transactions: accepted }
    })
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return { outcome: 'refused', index: error.index, creation: error.creation }
  }
}
