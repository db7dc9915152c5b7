import type { InsertResult, NewTransaction, PoolTransaction } from '../../domain/new-transaction.ts'
import type { PendingAuditEntry } from '../../domain/rows.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { createSpending } from './daily-limits.ts'
import type { Database } from './database.ts'
import { createEvents } from './events.ts'
import { readInsertState } from './insert-batch.ts'
import {
  acceptInPool,
  answerAgain,
  answerBatchAgain,
  deduplicationOf,
  idempotencyScope,
  insertTransaction,
  type KnownAnswer,
  lanesOf,
  type PoolState,
  Refused,
} from './insert-transaction.ts'
import { readPoolState, writeOrders } from './pools.ts'
import { type Session, sql, type Transaction } from './session.ts'
import { dataColumn } from './transaction-rows.ts'
import { createWithdrawal, isSigned, transactionById, withoutData } from './transactions.ts'
import { createMoves } from './update-transactions.ts'

const selectKnown = sql<KnownAnswer>(`
  SELECT body_hash, answer, transaction_row_id, ${dataColumn('idempotency')} FROM idempotency
  WHERE caller = $caller AND relayer_row_id = $relayer_row_id AND idempotency_key = $key`)
const insertKnown = sql(`
  INSERT INTO idempotency (caller, relayer_row_id, idempotency_key, body_hash, transaction_row_id, answer, data_row_id)
  VALUES ($caller, $relayer_row_id, $key, $body_hash, $transaction_row_id, $answer, $data_row_id)`)

const moveDeduplicationId = sql(
  'UPDATE deduplication_ids SET transaction_row_id = $to WHERE transaction_row_id = $from',
)

const orderOfTransaction = sql('SELECT 1 FROM pool_orders WHERE transaction_row_id = $row_id')

/** Of transactions that nobody asked for: they fill gaps of nonces. As in the audit trail. */
const ownCaller = 'service'

interface Ahead {
  ledger: Awaited<ReturnType<typeof readInsertState>>
  pools: PoolState
}

/** A transaction of one relayer, or one that a relayer of a pool takes. */
type Wanted = NewTransaction | PoolTransaction
/** What relayers share of a transaction, and no row holds before it is accepted. */
const namesToLock = (its: NewTransaction): string[] => [lanesOf(its), deduplicationOf(its) ?? []].flat()

type Accepted = ReturnType<typeof acceptInPool>

const isForPool = (wanted: Wanted): wanted is PoolTransaction => 'candidates' in wanted
const candidatesOf = (wanted: Wanted): NewTransaction[] =>
  isForPool(wanted) ? wanted.candidates.map(({ transaction }) => transaction) : [wanted]

/** Accepts transactions, and returns the first responses of their idempotency keys. */
export function creations(
  database: Database,
  dependencies: StoreDependencies,
): Pick<
  Store,
  | 'createTransaction'
  | 'createPoolTransaction'
  | 'moveInPool'
  | 'createTransactions'
  | 'replay'
  | 'replayInPool'
  | 'replayBatch'
> {
  const events = createEvents(dependencies)
  const spendings = createSpending(dependencies.now)
  const moveAll = createMoves(events, spendings, dependencies.now)
  const withdraw = createWithdrawal(spendings, async (transaction, one) => (await moveAll(transaction, [one]))[0])

  const knownOf = (session: Session, relayerRowId: number, its: { caller: string; key: string }) =>
    session.one(selectKnown, { caller: its.caller, key: its.key, relayer_row_id: relayerRowId })

  /** What the acceptance of some transactions depends on. The caller holds the locks of the relayers. */
  async function readAhead(transaction: Transaction, wanted: Wanted[]): Promise<Ahead> {
    const candidates = wanted.flatMap(candidatesOf)
    const relayers = wanted.flatMap((one) => (isForPool(one) ? [] : one.relayer_row_id))
    const [ledger, pools] = await Promise.all([
      readInsertState(transaction, candidates, dependencies.now()),
      readPoolState(transaction, wanted.filter(isForPool)),
      events.prepare(transaction, relayers),
    ])
    return { ledger, pools }
  }

  async function create(
    transaction: Transaction,
    wanted: { input: Wanted; auditEntry?: PendingAuditEntry | undefined }[],
    { ledger, pools }: Ahead,
  ): Promise<Accepted[]> {
    const createdAt = new Date(dependencies.now()).toISOString()
    const creations = wanted.map(({ input, auditEntry }) => {
      const origin = { created_at: createdAt, caller: auditEntry?.caller ?? ownCaller }
      return isForPool(input)
        ? acceptInPool(ledger, pools, origin, input)
        : { creation: insertTransaction(ledger, { ...origin, pool_row_id: null }, input) }
    })
    await Promise.all([
      ledger.write(transaction),
      writeOrders(
        transaction,
        creations.flatMap((its: Accepted) => its.order ?? []),
      ),
      events.ofTransactions(
        transaction,
        ledger.accepted.map(({ shown }) => shown),
      ),
    ])
    return creations
  }

  const createOne = database.groupCommitTogether(
    (wanted: Wanted) => ({
      relayers: candidatesOf(wanted).flatMap(({ relayer_row_id, refill }) =>
        refill ? [relayer_row_id, refill.relayer_row_id] : relayer_row_id,
      ),
      pools: isForPool(wanted) ? [wanted.pool_row_id] : [],
      names: candidatesOf(wanted).flatMap(namesToLock),
    }),
    {
      isFirst: true,
      readAhead,
      async make(transaction, requested, ahead) {
        const creations = await create(transaction, requested, ahead)
        // A refused transaction has no effect, so it gets no audit entry.
        for (const [index, { auditEntry }] of requested.entries()) {
          const { creation, relayer_id } = creations[index] as Accepted
          if (auditEntry && creation.outcome === 'created') {
            transaction.record(relayer_id === undefined ? auditEntry : { ...auditEntry, relayer_id })
          }
        }
        return creations.map(({ creation }) => creation)
      },
    },
  )

  const replay: Store['replay'] = async (caller, relayerRowId, key, bodyHash) => {
    const known = await knownOf(database.read, relayerRowId, { caller, key })
    return known && answerAgain(known, bodyHash)
  }

  return {
    createTransaction: (wanted, auditEntry) => createOne(wanted, auditEntry) as Promise<InsertResult>,
    createPoolTransaction: createOne,
    async moveInPool({ relayer_row_id, id }, wanted, auditEntry) {
      try {
        return await database.write(async (transaction) => {
          const { transaction: other } = wanted.candidates[0] as PoolTransaction['candidates'][number]
          await transaction.lockRelayers({
            relayers: [relayer_row_id, ...candidatesOf(wanted).map((one) => one.relayer_row_id)],
            pools: [wanted.pool_row_id],
          })
          const row = await transactionById(transaction, relayer_row_id, id)
          if (row?.pool_row_id !== wanted.pool_row_id) return { outcome: 'missing' }
          const isFree = row.status === 'pending' && row.intent === 'send' && !(await isSigned(transaction, row.row_id))
          if (!isFree) return { outcome: 'signed', row: withoutData(row) }
          if (await transaction.one(orderOfTransaction, { row_id: row.row_id })) return { outcome: 'ordered' }
          await withdraw(transaction, relayer_row_id, id, 'cancel', `Moved to another relayer as ${other.id}`)
          const [accepted] = await create(
            transaction,
            [{ input: wanted, auditEntry }],
            await readAhead(transaction, [wanted]),
          )
          const { creation, relayer_id } = accepted as Accepted
          if (!('row_id' in creation)) throw new Refused(0, creation)
          await transaction.run(moveDeduplicationId, { from: row.row_id, to: creation.row_id })
          transaction.record({ ...auditEntry, relayer_id: relayer_id as string })
          return creation
        })
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        return error.creation
      }
    },
    async createTransactions(auditEntry, transactions, idempotency) {
      try {
        return await database.write(async (transaction) => {
          const first = transactions[0] as Wanted
          const { relayer_row_id } = candidatesOf(first)[0] as NewTransaction
          await transaction.lockRelayers({
            relayers: [relayer_row_id],
            pools: isForPool(first) ? [first.pool_row_id] : [],
            names: transactions.flatMap(candidatesOf).flatMap(namesToLock),
          })
          const holder = idempotencyScope(relayer_row_id, idempotency?.pool_row_id)
          const known = idempotency && (await knownOf(transaction, holder, idempotency))
          if (known) return answerBatchAgain(known, idempotency.body_hash)
          const created: Extract<InsertResult, { outcome: 'created' | 'replayed' }>[] = []
          const creations = await create(
            transaction,
            transactions.map((input) => ({ input, auditEntry })),
            await readAhead(transaction, transactions),
          )
          for (const [index, its] of creations.entries()) {
            const { creation } = its
            if (!('row_id' in creation)) throw new Refused(index, creation)
            transaction.record({ ...auditEntry, subject: creation.transaction.id })
            created.push(creation)
          }
          const accepted = created.map((creation) => creation.transaction)
          const last = created.at(-1)
          if (idempotency && last) {
            const { caller, key, body_hash } = idempotency
            const answer = JSON.stringify(accepted)
            const row = { relayer_row_id: holder, transaction_row_id: last.row_id, answer, data_row_id: null }
            await transaction.run(insertKnown, { caller, key, body_hash, ...row })
          }
          return { outcome: 'created', transactions: accepted }
        })
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        return { outcome: 'refused', index: error.index, creation: error.creation }
      }
    },
    async replayBatch(caller, holder, key, bodyHash) {
      const known = await knownOf(database.read, holder, { caller, key })
      return known && answerBatchAgain(known, bodyHash)
    },
    replay,
    replayInPool: (caller, poolRowId, key, bodyHash) => replay(caller, idempotencyScope(0, poolRowId), key, bodyHash),
  }
}
