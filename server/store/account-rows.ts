import type { Store } from './store.ts'

type Account = Awaited<ReturnType<Store['getAccount']>>

/** A row of the table `accounts`. */
export type StoredAccount = Omit<Account, 'foreign'> & {
  foreign_nonce: number | null
  foreign_hash: string | null
  foreign_at: string | null
}

export const accountColumns =
  'next_nonce, used_below, genesis_hash, reserved, released, foreign_nonce, foreign_hash, foreign_at'

const unused: Account = {
  next_nonce: 0,
  used_below: 0,
  genesis_hash: null,
  reserved: '0',
  released: '0',
  foreign: null,
}

/** An account without a row never had a transaction. */
export function readAccount(row: StoredAccount | undefined): Account {
  if (!row) return unused
  const { next_nonce, used_below, genesis_hash, reserved, released, foreign_nonce, foreign_hash, foreign_at } = row
  const foreign =
    foreign_nonce === null || foreign_at === null
      ? null
      : { nonce: foreign_nonce, hash: foreign_hash, noticed_at: foreign_at }
  return { next_nonce, used_below, genesis_hash, reserved, released, foreign }
}
