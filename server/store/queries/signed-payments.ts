import type { Account } from '../../domain/transaction-rows.ts'
import { type DatabaseTransaction, type Session, sql } from './database.ts'

/** A payment that a caller has signed. `nonce`: that of its authorization. `valid_before`: in seconds since the Unix epoch. */
export interface SignedPayment {
  nonce: string
  request_hash: string
  valid_before: number
}

/** `spent`: what limits have counted for it. */
type StoredSignedPayment = SignedPayment & { spent: string | null }

const selectSignedPayment = sql<StoredSignedPayment>(`
  SELECT nonce, request_hash, valid_before, spent FROM signed_payments
  WHERE chain_id = $chain_id AND address = $address AND nonce = $nonce`)
const write = sql(`
  INSERT INTO signed_payments (chain_id, address, nonce, request_hash, valid_before, spent)
  VALUES ($chain_id, $address, $nonce, $request_hash, $valid_before, $spent)
  ON CONFLICT (chain_id, address, nonce) DO UPDATE SET spent = excluded.spent`)
const removeExpired = sql(`
  DELETE FROM signed_payments WHERE chain_id = $chain_id AND address = $address AND valid_before <= $now`)

/** What was signed first, until it has expired. The caller holds the lock of the account's relayers. */
export async function knownPayment(
  dbTransaction: DatabaseTransaction,
  { chain_id, address }: Account,
  { nonce }: SignedPayment,
): Promise<StoredSignedPayment | undefined> {
  await dbTransaction.run(removeExpired, { chain_id, address, now: Math.floor(dbTransaction.effects.now() / 1_000) })
  return dbTransaction.one(selectSignedPayment, { chain_id, address, nonce })
}

export const writePayment = (
  session: Session,
  { chain_id, address }: Account,
  payment: StoredSignedPayment,
): Promise<number> => session.run(write, { chain_id, address, ...payment })
