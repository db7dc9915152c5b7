import type { Creation, NewTransaction, PoolTransaction } from '../../core/sending-rows.ts'
import { accept, holderOf } from '../acceptance.ts'
import { answerAgain, answerBatchAgain, type KnownAnswer, Refused } from '../first-responses.ts'
import { acceptInPool, type PoolState } from '../pool-choice.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import type { Database } from './database.ts'
import { createEvents } from './events.ts'
import { readLedger } from './ledger.ts'
import { readPoolState, writeOrders } from './pool-orders.ts'
import type { Session, Transaction } from './session.ts'
import { sql } from './statement.ts'
import { dataColumn } from './transaction-data.ts'

const selectKnown = sql<KnownAnswer>(`
  SELECT body_hash, answer, transaction_row_id, ${dataColumn('idempotency')} FROM idempotency
  WHERE caller = $caller AND relayer_row_id = $relayer_row_id AND idempotency_key = $key`)
const insertKnown = sql(`
  INSERT INTO idempotency (caller, relayer_row_id, idempotency_key, body_hash, transaction_row_id, answer, data_row_id)
  VALUES ($caller, $relayer_row_id, $key, $body_hash, $transaction_row_id, $answer, $data_row_id)`)

interface Ahead {
  ledger: Awaited<ReturnType<typeof readLedger>>
  pools: PoolState
}

/** A transaction of one relayer, or one that a relayer of a pool takes. */
type Wanted = NewTransaction | PoolTransaction
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
  'createTransaction' | 'createPoolTransaction' | 'createTransactions' | 'replay' | 'replayInPool' | 'replayBatch'
> {
  const events = createEvents(dependencies)

  const knownOf = (session: Session, relayer_row_id: number, its: { caller: string; key: string }) =>
    session.one(selectKnown, { caller: its.caller, key: its.key, relayer_row_id })

  /** What the acceptance of some transactions depends on. The caller holds the locks of the relayers. */
  async function readAhead(transaction: Transaction, wanted: Wanted[]): Promise<Ahead> {
    const candidates = wanted.flatMap(candidatesOf)
    const relayers = wanted.flatMap((one) => (isForPool(one) ? [] : one.relayer_row_id))
    const [ledger, pools] = await Promise.all([
      readLedger(transaction, candidates, dependencies.now()),
      readPoolState(transaction, wanted.filter(isForPool)),
      events.prepare(transaction, relayers),
    ])
    return { ledger, pools }
  }

  async function create(transaction: Transaction, wanted: Wanted[], { ledger, pools }: Ahead): Promise<Accepted[]> {
    const created_at = new Date(dependencies.now()).toISOString()
    const creations = wanted.map((one) =>
      isForPool(one) ? acceptInPool(ledger, pools, created_at, one) : { creation: accept(ledger, created_at, one) },
    )
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
      relayers: candidatesOf(wanted).map(({ relayer_row_id }) => relayer_row_id),
      pools: isForPool(wanted) ? [wanted.pool_row_id] : [],
    }),
    {
      readAhead,
      async make(transaction, requested, ahead) {
        const wanted = requested.map(({ input }) => input)
        const creations = await create(transaction, wanted, ahead)
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

  const replay: Store['replay'] = async (caller, relayer_row_id, key, body_hash) => {
    const known = await knownOf(database.read, relayer_row_id, { caller, key })
    return known && answerAgain(known, body_hash)
  }

  return {
    createTransaction: (wanted, auditEntry) => createOne(wanted, auditEntry) as Promise<Creation>,
    createPoolTransaction: createOne,
    async createTransactions(auditEntry, transactions, idempotency) {
      try {
        return await database.write(async (transaction) => {
          const { relayer_row_id } = transactions[0] as NewTransaction
          await transaction.lockRelayers({ relayers: [relayer_row_id] })
          const known = idempotency && (await knownOf(transaction, relayer_row_id, idempotency))
          if (known) return answerBatchAgain(known, idempotency.body_hash)
          const created: Extract<Creation, { outcome: 'created' | 'replayed' }>[] = []
          const creations = await create(transaction, transactions, await readAhead(transaction, transactions))
          for (const [index, its] of creations.entries()) {
            const creation = its.creation as Creation
            if (creation.outcome !== 'created') throw new Refused(index, creation)
            transaction.record({ ...auditEntry, subject: creation.transaction.id })
            created.push(creation)
          }
          const accepted = created.map((creation) => creation.transaction)
          const last = created.at(-1)
          if (idempotency && last) {
            const answer = JSON.stringify(accepted)
            const row = { relayer_row_id, transaction_row_id: last.row_id, answer, data_row_id: null }
            await transaction.run(insertKnown, { ...idempotency, ...row })
          }
          return { outcome: 'created', transactions: accepted }
        })
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        return { outcome: 'refused', index: error.index, creation: error.creation }
      }
    },
    async replayBatch(caller, relayer_row_id, key, body_hash) {
      const known = await knownOf(database.read, relayer_row_id, { caller, key })
      return known && answerBatchAgain(known, body_hash)
    },
    replay,
    replayInPool: (caller, pool_row_id, key, body_hash) => replay(caller, holderOf(0, pool_row_id), key, body_hash),
  }
}
