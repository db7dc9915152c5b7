import { shownTransaction } from '../../shown-transaction.ts'
import { answerAgain, answerBatchAgain, type KnownAnswer, Refused } from '../first-responses.ts'
import { reservedOf } from '../reservation.ts'
import { crowdedBy } from '../room.ts'
import type { Creation, NewTransaction } from '../sending-rows.ts'
import type { Store } from '../store.ts'
import type { StoreWorld } from '../store-world.ts'
import { dataColumn } from '../transaction-data.ts'
import { bytesOf, columns, type Row, read } from '../transaction-rows.ts'
import { type Connection, type Session, sql, type Transaction } from './connection.ts'
import { createEvents } from './events.ts'
import { groupCommit } from './group-commit.ts'
import { lockRelayers } from './locks.ts'
import { nextNonce, setNonce } from './nonce-counter.ts'
import { changeReservation, reservedSum } from './reservations.ts'
import { unfinishedOf } from './room.ts'
import { createSpending } from './spending.ts'
import { addData } from './transaction-data.ts'

const held = sql<{ held: number }>(
  'SELECT 1 AS held FROM transactions WHERE chain_id = $chain_id AND "from" = $from AND nonce = $nonce',
)
const lastSequence = sql<{ last: number }>(
  'SELECT coalesce(max(sequence), 0) AS last FROM transactions WHERE relayer_row_id = $relayer_row_id',
)
const insert = sql<Row>(`
  INSERT INTO transactions (id, relayer_row_id, relayer_id, sequence, chain_id, "from", "to", value, data_bytes,
    data_row_id, nonce, gas_limit, gas_price, max_fee_per_gas, max_priority_fee_per_gas, status, status_reason,
    created_at, speed, valid_until, intent, spent, reserved, reference, access_list, authorization_list)
  VALUES ($id, $relayer_row_id, $relayer_id, $sequence, $chain_id, $from, $to, $value, $data_bytes, $data_row_id,
    $nonce, $gas_limit, $gas_price, $max_fee_per_gas, $max_priority_fee_per_gas, 'pending', $status_reason,
    $created_at, $speed, $valid_until, $intent, $spent, $reserved, $reference, $access_list, $authorization_list)
  RETURNING ${columns}`)
const selectKnown = sql<KnownAnswer>(`
  SELECT body_hash, answer, transaction_row_id, ${dataColumn('idempotency')} FROM idempotency
  WHERE caller = $caller AND relayer_row_id = $relayer_row_id AND idempotency_key = $key`)
const insertKnown = sql(`
  INSERT INTO idempotency (caller, relayer_row_id, idempotency_key, body_hash, transaction_row_id, answer, data_row_id)
  VALUES ($caller, $relayer_row_id, $key, $body_hash, $transaction_row_id, $answer, $data_row_id)`)
const relayerExists = sql<{ found: number }>('SELECT 1 AS found FROM relayers WHERE row_id = $relayer_row_id')

/** Accepts transactions, and returns the first responses of their idempotency keys. */
export function creations(
  connection: Connection,
  world: StoreWorld,
): Pick<Store, 'createTransaction' | 'createTransactions' | 'replay' | 'replayBatch'> {
  const events = createEvents(world)
  const spendings = createSpending(world.now)

  const knownOf = (session: Session, relayer_row_id: number, its: { caller: string; key: string }) =>
    session.one(selectKnown, { caller: its.caller, key: its.key, relayer_row_id })

  /** The caller holds the lock of the relayer. */
  async function create(
    transaction: Transaction,
    { idempotency, spending, funds, warnings = [], room, expected_nonce, ...wanted }: NewTransaction,
  ): Promise<Creation> {
    const { relayer_row_id, chain_id, from, data } = wanted
    const known = idempotency && (await knownOf(transaction, relayer_row_id, idempotency))
    if (known) return answerAgain(known, idempotency.body_hash)

    if (!(await transaction.one(relayerExists, { relayer_row_id }))) return { outcome: 'relayer_gone' }
    const account = { chain_id, address: from }
    const nonce = wanted.nonce ?? (await nextNonce(transaction, account)) ?? 0
    if (expected_nonce !== undefined && expected_nonce !== nonce) return { outcome: 'other_nonce', next_nonce: nonce }
    if (await transaction.one(held, { chain_id, from, nonce })) return { outcome: 'held' }
    const reserved = reservedOf({ ...wanted, status: 'pending', block_hash: null })
    const others = await reservedSum(transaction, account)
    if (funds !== undefined && BigInt(reserved ?? 0) + BigInt(others) > BigInt(funds)) {
      return { outcome: 'too_little', reserved: others }
    }
    const unfinished = room && (await unfinishedOf(transaction, relayer_row_id))
    const crowded = room && unfinished && crowdedBy(unfinished, { count: 1, bytes: bytesOf(data) }, room)
    if (crowded) return crowded
    const taken = spending ? await spendings.take(transaction, account, spending) : { spent: null }
    if ('outcome' in taken) return taken
    if (wanted.nonce === undefined) await setNonce(transaction, account, nonce + 1)
    const { last = 0 } = (await transaction.one(lastSequence, { relayer_row_id })) ?? {}
    const inserted = await transaction.one(insert, {
      id: wanted.id,
      relayer_row_id,
      relayer_id: wanted.relayer_id,
      sequence: last + 1,
      chain_id,
      from,
      to: wanted.to,
      value: wanted.value,
      data_bytes: bytesOf(data),
      data_row_id: await addData(transaction, data),
      nonce,
      gas_limit: wanted.gas_limit,
      gas_price: wanted.gas_price,
      max_fee_per_gas: wanted.max_fee_per_gas,
      max_priority_fee_per_gas: wanted.max_priority_fee_per_gas,
      status_reason: wanted.status_reason,
      created_at: new Date(world.now()).toISOString(),
      speed: wanted.speed && JSON.stringify(wanted.speed),
      valid_until: wanted.valid_until,
      intent: wanted.intent,
      spent: taken.spent,
      reserved,
      reference: wanted.reference ?? null,
      access_list: wanted.access_list ? JSON.stringify(wanted.access_list) : null,
      authorization_list: wanted.authorization_list ? JSON.stringify(wanted.authorization_list) : null,
    })
    const row = { ...read(inserted as Row), data }
    await changeReservation(transaction, account, null, reserved)
    await events.ofTransactions(transaction, [row])
    const accepted = { ...shownTransaction(row), warnings }
    if (idempotency) {
      const { row_id: transaction_row_id, data_row_id } = row
      const answer = JSON.stringify({ ...accepted, data: null })
      await transaction.run(insertKnown, { ...idempotency, relayer_row_id, transaction_row_id, answer, data_row_id })
    }
    return { outcome: 'created', transaction: accepted, row_id: row.row_id }
  }

  return {
    createTransaction: groupCommit(
      connection,
      ({ relayer_row_id }: NewTransaction) => ({ relayers: [relayer_row_id] }),
      create,
    ),
    async createTransactions(auditEntry, transactions, idempotency) {
      try {
        return await connection.write(async (transaction) => {
          const { relayer_row_id } = transactions[0] as NewTransaction
          await lockRelayers(transaction, [{ relayers: [relayer_row_id] }])
          const known = idempotency && (await knownOf(transaction, relayer_row_id, idempotency))
          if (known) return answerBatchAgain(known, idempotency.body_hash)
          const created: Extract<Creation, { outcome: 'created' | 'replayed' }>[] = []
          for (const [index, wanted] of transactions.entries()) {
            const creation = await transaction.attributed({ ...auditEntry, subject: wanted.id }, () =>
              create(transaction, wanted),
            )
            if (creation.outcome !== 'created') throw new Refused(index, creation)
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
      const known = await knownOf(connection.read, relayer_row_id, { caller, key })
      return known && answerBatchAgain(known, body_hash)
    },
    async replay(caller, relayer_row_id, key, body_hash) {
      const known = await knownOf(connection.read, relayer_row_id, { caller, key })
      return known && answerAgain(known, body_hash)
    },
  }
}
