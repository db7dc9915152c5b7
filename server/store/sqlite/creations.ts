import type { Creation, NewTransaction } from '../../core/sending-rows.ts'
import { shownTransaction } from '../../core/shown-transaction.ts'
import { answerAgain, answerBatchAgain, type KnownAnswer, Refused } from '../first-responses.ts'
import { reservedOf } from '../reservation.ts'
import { crowdedBy } from '../room.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { dataColumn } from '../transaction-data.ts'
import { bytesOf, columns, type Row, read } from '../transaction-rows.ts'
import type { Connection } from './connection.ts'
import { createEvents } from './events.ts'
import { groupCommit } from './group-commit.ts'
import { nonceCounter } from './nonce-counter.ts'
import { createReservations } from './reservations.ts'
import { createUnfinished } from './room.ts'
import { createSpending } from './spending.ts'
import { createTransactionData } from './transaction-data.ts'

/** Accepts transactions, and returns the first responses of their idempotency keys. */
export function creations(
  connection: Connection,
  dependencies: StoreDependencies,
): Pick<Store, 'createTransaction' | 'createTransactions' | 'replay' | 'replayBatch'> {
  const { db } = connection
  const writeEvent = createEvents(connection, dependencies).ofTransaction
  const spendings = createSpending(connection, dependencies.now)
  const reservations = createReservations(db)

  const { nextNonce, setNonce } = nonceCounter(db)
  const byNonce = db.prepare<[number, string, number]>(
    'SELECT 1 FROM transactions WHERE chain_id = ? AND "from" = ? AND nonce = ?',
  )
  const lastSequence = db
    .prepare<[number], number>('SELECT coalesce(max(sequence), 0) FROM transactions WHERE relayer_row_id = +?')
    .pluck()
  const insert = db.prepare<[object], Row>(`
    INSERT INTO transactions (id, relayer_row_id, relayer_id, sequence, chain_id, "from", "to", value, data_bytes, data_row_id, nonce,
      gas_limit, gas_price, max_fee_per_gas, max_priority_fee_per_gas, status, status_reason, created_at, speed,
      valid_until, intent, type, fee_ceiling, tip_ceiling, spent, reserved, reference, access_list, authorization_list)
    VALUES ($id, $relayer_row_id, $relayer_id, $sequence, $chain_id, $from, $to, $value, $data_bytes, $data_row_id, $nonce,
      $gas_limit, $gas_price, $max_fee_per_gas, $max_priority_fee_per_gas, 'pending', $status_reason, $created_at, $speed,
      $valid_until, $intent, $type, $fee_ceiling, $tip_ceiling, $spent, $reserved, $reference, $access_list, $authorization_list)
    RETURNING ${columns}`)
  const versions = createTransactionData(connection)
  const selectKnown = db.prepare<[string, number, string], KnownAnswer>(`
    SELECT body_hash, answer, transaction_row_id, ${dataColumn('idempotency')} FROM idempotency
    WHERE caller = ? AND relayer_row_id = ? AND idempotency_key = ?`)
  const insertKnown = db.prepare<[object]>(`
    INSERT INTO idempotency (caller, relayer_row_id, idempotency_key, body_hash, transaction_row_id, answer, data_row_id)
    VALUES ($caller, $relayer_row_id, $key, $body_hash, $transaction_row_id, $answer, $data_row_id)`)
  const unfinished = createUnfinished(connection)
  const relayerExists = db.prepare<[number]>('SELECT 1 FROM relayers WHERE row_id = ?')

  const create = ({
    idempotency,
    spending,
    funds,
    warnings = [],
    room,
    expected_nonce,
    ...wanted
  }: NewTransaction): Creation => {
    const { relayer_row_id, chain_id, from } = wanted
    const known = idempotency && selectKnown.get(idempotency.caller, relayer_row_id, idempotency.key)
    if (known) return answerAgain(known, idempotency.body_hash)

    if (!relayerExists.get(relayer_row_id)) return { outcome: 'relayer_gone' }
    const nonce = wanted.nonce ?? nextNonce.get(chain_id, from) ?? 0
    if (expected_nonce !== undefined && expected_nonce !== nonce) return { outcome: 'other_nonce', next_nonce: nonce }
    if (byNonce.get(chain_id, from, nonce)) return { outcome: 'held' }
    const account = { chain_id, address: from }
    const reserved = reservedOf({ ...wanted, status: 'pending', block_hash: null })
    const others = reservations.sumOf(account)
    if (funds !== undefined && BigInt(reserved ?? 0) + BigInt(others) > BigInt(funds)) {
      return { outcome: 'too_little', reserved: others }
    }
    const crowded = room && crowdedBy(unfinished(relayer_row_id), { count: 1, bytes: bytesOf(wanted.data) }, room)
    if (crowded) return crowded
    const taken = spending ? spendings.take(account, spending) : { spent: null }
    if ('outcome' in taken) return taken
    if (wanted.nonce === undefined) setNonce.run(chain_id, from, nonce + 1)
    const sequence = (lastSequence.get(relayer_row_id) as number) + 1
    const created_at = new Date(dependencies.now()).toISOString()
    const speed = wanted.speed && JSON.stringify(wanted.speed)
    const { data } = wanted
    const values = {
      reference: null,
      fee_ceiling: null,
      tip_ceiling: null,
      ...wanted,
      ...taken,
      reserved,
      sequence,
      nonce,
      speed,
      access_list: wanted.access_list ? JSON.stringify(wanted.access_list) : null,
      authorization_list: wanted.authorization_list ? JSON.stringify(wanted.authorization_list) : null,
      created_at,
      data_bytes: bytesOf(data),
      data_row_id: versions.add(data),
    }
    const row = { ...read(insert.get(values) as Row), data }
    reservations.change(account, null, reserved)
    writeEvent(row)
    const transaction = { ...shownTransaction(row), warnings }
    if (idempotency) {
      const { row_id: transaction_row_id, data_row_id } = row
      const answer = JSON.stringify({ ...transaction, data: null })
      insertKnown.run({ ...idempotency, relayer_row_id, transaction_row_id, answer, data_row_id })
    }
    return { outcome: 'created', transaction, row_id: row.row_id }
  }

  return {
    createTransaction: groupCommit(connection, create),
    async createTransactions(auditEntry, transactions, idempotency) {
      try {
        return connection.write(() => {
          const { relayer_row_id } = transactions[0] as NewTransaction
          const known = idempotency && selectKnown.get(idempotency.caller, relayer_row_id, idempotency.key)
          if (known) return answerBatchAgain(known, idempotency.body_hash)
          const created = transactions.map((wanted, index) =>
            connection.attributed({ ...auditEntry, subject: wanted.id }, () => {
              const creation = create(wanted)
              if (creation.outcome !== 'created') throw new Refused(index, creation)
              return creation
            }),
          )
          const accepted = created.map(({ transaction }) => transaction)
          if (idempotency) {
            const { row_id: transaction_row_id } = created.at(-1) as (typeof created)[number]
            const answer = JSON.stringify(accepted)
            insertKnown.run({ ...idempotency, relayer_row_id, transaction_row_id, answer, data_row_id: null })
          }
          return { outcome: 'created', transactions: accepted }
        })
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        return { outcome: 'refused', index: error.index, creation: error.creation }
      }
    },
    async replayBatch(caller, relayer_row_id, key, body_hash) {
      const known = selectKnown.get(caller, relayer_row_id, key)
      return known && answerBatchAgain(known, body_hash)
    },
    async replay(caller, relayer_row_id, key, body_hash) {
      const known = selectKnown.get(caller, relayer_row_id, key)
      return known && answerAgain(known, body_hash)
    },
  }
}
