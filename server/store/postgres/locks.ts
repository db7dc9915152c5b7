import type { RelayersToLock, Session } from '../rules/session.ts'
import { sql } from '../rules/statement.ts'
import type { Fence } from './fence.ts'

const lock = sql(`
  SELECT row_id FROM relayers
  WHERE row_id IN (
    SELECT unnest($relayers::bigint[])
    UNION ALL SELECT relayer_row_id FROM transactions WHERE row_id = ANY ($transactions::bigint[])
    UNION ALL SELECT its.row_id FROM unnest($chain_ids::bigint[], $addresses::text[]) AS account (chain_id, address)
      JOIN relayers AS its ON its.chain_id = account.chain_id AND its.address = account.address)
  ORDER BY row_id FOR NO KEY UPDATE`)

const lockPools = sql('SELECT row_id FROM pool_ids WHERE row_id = ANY ($row_ids) ORDER BY row_id FOR NO KEY UPDATE')

// A name is no row: while it has no transaction, only the name can be locked.
const lockNames = sql(`
  SELECT pg_advisory_xact_lock(lock) FROM (
    SELECT DISTINCT hashtextextended(name, 0) AS lock FROM unnest($names::text[]) AS name ORDER BY lock
  ) AS wanted`)

/** Locks the rows of pools, then of relayers, by ascending row id, and then names, until the commit. */
export async function lockRelayers(session: Session, wanted: RelayersToLock[]): Promise<void> {
  const pools = wanted.flatMap(({ pools }) => pools ?? [])
  const locking = pools.length > 0 && session.all(lockPools, { row_ids: pools })
  const accounts = wanted.flatMap((its) => its.accounts ?? [])
  const locked = session.all(lock, {
    relayers: wanted.flatMap(({ relayers }) => relayers ?? []),
    transactions: wanted.flatMap(({ transactions }) => transactions ?? []),
    chain_ids: accounts.map(({ chain_id }) => chain_id),
    addresses: accounts.map(({ address }) => address),
  })
  const names = wanted.flatMap((its) => its.names ?? [])
  await Promise.all([locking, locked, names.length > 0 && session.all(lockNames, { names })])
}

/** A name of what a change locks. Transactions are named only where neither their sender nor anything else names their relayer. */
export function relayersKey(
  { pools = [], relayers = [], accounts = [], transactions = [] }: RelayersToLock,
  fence?: Fence,
) {
  const known = fence?.kind === 'sender' ? [fence.row_id] : relayers
  return JSON.stringify([pools, known, accounts, known.length > 0 ? [] : transactions])
}

const lockTargets = sql(
  'SELECT row_id FROM notifications WHERE row_id = ANY ($row_ids) ORDER BY row_id FOR NO KEY UPDATE',
)

/** Locks the rows of notifications, by ascending row id, until the commit: no other database transaction adds or changes their deliveries. */
export async function lockNotifications(session: Session, row_ids: number[]): Promise<void> {
  await session.all(lockTargets, { row_ids })
}
