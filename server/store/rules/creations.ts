import type { Creation, NewTransaction } from '../../core/sending-rows.ts'
import { accept } from '../acceptance.ts'
import { answerAgain, answerBatchAgain, type KnownAnswer, Refused } from '../first-responses.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import type { Database } from './database.ts'
import { createEvents } from './events.ts'
import { readLedger } from './ledger.ts'
import type { Session, Transaction } from './session.ts'
import { sql } from './statement.ts'
import { dataColumn } from './transaction-data.ts'

const selectKnown = sql<KnownAnswer>(`
  SELECT body_hash, answer, transaction_row_id, ${dataColumn('idempotency')} FROM idempotency
  WHERE caller = $caller AND relayer_row_id = $relayer_row_id AND idempotency_key = $key`)
const insertKnown = sql(`
  INSERT INTO idempotency (caller, relayer_row_id, idempotency_key, body_hash, transaction_row_id, answer, data_row_id)
  VALUES ($caller, $relayer_row_id, $key, $body_hash, $transaction_row_id, $answer, $data_row_id)`)

type Ahead = Awaited<ReturnType<typeof readLedger>>

/** Accepts transactions, and returns the first responses of their idempotency keys. */
export function creations(
  database: Database,
  dependencies: StoreDependencies,
): Pick<Store, 'createTransaction' | 'createTransactions' | 'replay' | 'replayBatch'> {
  const events = createEvents(dependencies)

  const knownOf = (session: Session, relayer_row_id: number, its: { caller: string; key: string }) =>
    session.one(selectKnown, { caller: its.caller, key: its.key, relayer_row_id })

  /** What the acceptance of some transactions depends on. The caller holds the locks of the relayers. */
  async function readAhead(transaction: Transaction, wanted: NewTransaction[]): Promise<Ahead> {
    const [ledger] = await Promise.all([
      readLedger(transaction, wanted, dependencies.now()),
      events.prepare(
        transaction,
        wanted.map(({ relayer_row_id }) => relayer_row_id),
      ),
    ])
    return ledger
  }

  async function create(transaction: Transaction, wanted: NewTransaction[], ledger: Ahead): Promise<Creation[]> {
    const created_at = new Date(dependencies.now()).toISOString()
    const creations = wanted.map((one) => accept(ledger, created_at, one))
    await Promise.all([
      ledger.write(transaction),
      events.ofTransactions(
        transaction,
        ledger.accepted.map(({ shown }) => shown),
      ),
    ])
    return creations
  }

  const createTransaction = database.groupCommitTogether(
    ({ relayer_row_id }: NewTransaction) => ({ relayers: [relayer_row_id] }),
    {
      readAhead,
      async make(transaction, requested, ahead) {
        const wanted = requested.map(({ input }) => input)
        const creations = await create(transaction, wanted, ahead)
        // A refused transaction has no effect, so it gets no audit entry.
        for (const [index, { auditEntry }] of requested.entries()) {
          if (auditEntry && creations[index]?.outcome === 'created') transaction.record(auditEntry)
        }
        return creations
      },
    },
  )

  return {
    createTransaction,
    async createTransactions(auditEntry, transactions, idempotency) {
      try {
        return await database.write(async (transaction) => {
          const { relayer_row_id } = transactions[0] as NewTransaction
          await transaction.lockRelayers({ relayers: [relayer_row_id] })
          const known = idempotency && (await knownOf(transaction, relayer_row_id, idempotency))
          if (known) return answerBatchAgain(known, idempotency.body_hash)
          const created: Extract<Creation, { outcome: 'created' | 'replayed' }>[] = []
          const creations = await create(transaction, transactions, await readAhead(transaction, transactions))
          for (const [index, creation] of creations.entries()) {
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
    async replay(caller, relayer_row_id, key, body_hash) {
      const known = await knownOf(database.read, relayer_row_id, { caller, key })
      return known && answerAgain(known, body_hash)
    },
  }
}
