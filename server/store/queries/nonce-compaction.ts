import { finalStatuses } from '../../domain/statuses.ts'
import type { Account } from '../../domain/transaction-rows.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import { setNonce } from './accounts.ts'
import { type Database, type DatabaseTransaction, type Session, sql, type Truth } from './database.ts'
import { statusIn } from './transaction-rows.ts'

/** The most gaps and abandoned nonces that are reported. */
const maxFound = 100
/** The most nonces that one turn of the event loop reads, or that one database transaction changes: some milliseconds. */
const batchRows = 250

interface Held {
  row_id: number
  nonce: number
  revision: number
  reason: string | null
  is_signed: Truth
  is_in_block: Truth
  is_ended: Truth
}

interface Place {
  /** Lower nonces are in use. */
  free: number
  /** The nonce from which the next batch reads. */
  next: number
}

const usedBelow = sql<{ used_below: number }>(
  'SELECT used_below FROM accounts WHERE chain_id = $chain_id AND address = $address',
)
const held = (bound: string, order: 'ASC' | 'DESC') =>
  sql<Held>(`
    SELECT row_id, nonce, revision, status_reason AS reason, status <> 'pending' OR hash IS NOT NULL AS is_signed,
      block_hash IS NOT NULL AS is_in_block, ${statusIn(finalStatuses)} AS is_ended
    FROM transactions WHERE chain_id = $chain_id AND "from" = $address AND nonce ${bound}
    ORDER BY nonce ${order} LIMIT $limit`)
const heldFrom = held('>= $nonce', 'ASC')
const heldBelow = held('< $nonce', 'DESC')
const isHeld = sql<{ held: number }>(
  'SELECT 1 AS held FROM transactions WHERE chain_id = $chain_id AND "from" = $address AND nonce = $nonce',
)
const renumber = sql('UPDATE transactions SET nonce = $nonce, revision = revision + 1 WHERE row_id = $row_id')

const from = (session: Session, { chain_id, address }: Account, nonce: number) =>
  session.all(heldFrom, { chain_id, address, nonce, limit: batchRows })

const below = (session: Session, { chain_id, address }: Account, nonce: number, limit = batchRows) =>
  session.all(heldBelow, { chain_id, address, nonce, limit })

const usedBelowOf = async (session: Session, { chain_id, address }: Account) =>
  (await session.one(usedBelow, { chain_id, address }))?.used_below ?? 0

/** The lowest nonce from `latest` on that is above all nonces that are known to be in a block. */
async function aboveBlocks(database: Database, account: Account, latest: number): Promise<number> {
  for (let end = Number.MAX_SAFE_INTEGER; ; await yieldToEventLoop()) {
    const rows = await below(database.read, account, end)
    const highest = rows.find(({ is_in_block }) => is_in_block)
    if (highest) return Math.max(latest, highest.nonce + 1)
    const last = rows.at(-1)
    if (last === undefined || last.nonce <= latest) return latest
    end = last.nonce
  }
}

/** Gives lower nonces to one batch. */
async function moveBatch(
  dbTransaction: DatabaseTransaction,
  account: Account,
  place: Place,
): Promise<Place & { moved: number; isEnd: boolean }> {
  await dbTransaction.lockRelayers({ accounts: [account] })
  const { chain_id, address } = account
  const rows = await from(dbTransaction, account, place.next)
  let free = Math.max(place.free, await usedBelowOf(dbTransaction, account))
  let moved = 0
  let passed = 0
  for (const { row_id, nonce, is_signed, is_in_block } of rows) {
    if (is_in_block) free = Math.max(free, nonce + 1)
    if (is_signed || nonce < free) continue
    // Others may have taken nonces between two batches.
    while (free < nonce && (await dbTransaction.one(isHeld, { chain_id, address, nonce: free }))) {
      free += 1
      passed += 1
      if (passed >= batchRows) return { free, next: nonce, moved, isEnd: false }
    }
    if (free !== nonce) {
      await dbTransaction.run(renumber, { nonce: free, row_id })
      moved += 1
    }
    free += 1
  }
  const last = rows.at(-1)
  if (last !== undefined && rows.length === batchRows) return { free, next: last.nonce + 1, moved, isEnd: false }
  const [highest] = await below(dbTransaction, account, Number.MAX_SAFE_INTEGER, 1)
  await setNonce(dbTransaction, account, Math.max(free, (highest?.nonce ?? -1) + 1))
  return { free, next: free, moved, isEnd: true }
}

/** Nonces from `first` on that no transaction holds, below the nonce of a signed transaction. */
async function gapsFrom(database: Database, account: Account, first: number): Promise<number[]> {
  const free: number[] = []
  let belowSigned = 0
  for (let next = first; ; await yieldToEventLoop()) {
    const rows = await from(database.read, account, next)
    for (const { nonce, is_signed } of rows) {
      for (; next < nonce && free.length < maxFound; next += 1) free.push(next)
      if (is_signed) belowSigned = free.length
      next = nonce + 1
    }
    if (rows.length < batchRows || belowSigned >= maxFound) return free.slice(0, belowSigned)
  }
}

/**
 * Gives unsigned transactions (`pending`, without a hash) the lowest unsigned nonces from `latest` on, in their order, and sets the
 * nonce counter after the highest nonce in use. Nonces at or below one that is known to be in a block, or proven to be used, are not
 * assigned. `gaps`: gaps that remain below a signed nonce, at most 100. Runs in several database transactions, between which other work
 * runs; after each one, nonces are unique and below the counter, so that an interrupted compaction leaves a gap that the next one finds.
 */
export async function compactNonces(
  database: Database,
  chainId: number,
  address: string,
  latest: number,
): Promise<{ moved: number; gaps: number[] }> {
  const account = { chain_id: chainId, address }
  const first = Math.max(await aboveBlocks(database, account, latest), await usedBelowOf(database.read, account))
  let moved = 0
  for (let place: Place = { free: first, next: first }; ; await yieldToEventLoop()) {
    const batch = await database.write((dbTransaction) => moveBatch(dbTransaction, account, place))
    moved += batch.moved
    if (batch.isEnd) return { moved, gaps: await gapsFrom(database, account, batch.free) }
    place = batch
  }
}

/**
 * Transactions that ended without being mined and hold nonces from `latest` on, above all nonces that are known to be in a block.
 * They block the account until something is mined at these nonces. At most 100.
 */
export async function abandoned(
  database: Database,
  chainId: number,
  address: string,
  latest: number,
): Promise<{ row_id: number; revision: number; reason: string | null }[]> {
  const account = { chain_id: chainId, address }
  const found: Awaited<ReturnType<typeof abandoned>> = []
  for (let next = await aboveBlocks(database, account, latest); ; await yieldToEventLoop()) {
    const rows = await from(database.read, account, next)
    for (const { row_id, revision, reason, is_ended, is_in_block } of rows) {
      if (is_ended && !is_in_block) found.push({ row_id, revision, reason })
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < batchRows || found.length >= maxFound) return found.slice(0, maxFound)
    next = last.nonce + 1
  }
}
