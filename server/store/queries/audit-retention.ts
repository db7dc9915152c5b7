import { type ChainHead, recordOf, removal } from '../audit-batches.ts'
import { type Database, sql, type Transaction } from './database.ts'

/** The most batches, and about the most entries, that one database transaction removes of a chain: some milliseconds. */
const maxBatches = 500
const maxEntries = 10_000

const chains = sql<{ chain: number }>({
  sqlite: 'SELECT 0 AS chain',
  postgres: 'SELECT chain FROM audit_chains ORDER BY chain',
})
const ofChain = { sqlite: 'true', postgres: 'chain = $chain' }
/** The newest batch stays: the next one follows it. */
const oldest = sql<{ up_to: number; first: number }>(
  (engine) => `
  SELECT up_to, first FROM audit
  WHERE ${ofChain[engine]} AND up_to < (SELECT max(up_to) FROM audit WHERE ${ofChain[engine]})
  ORDER BY up_to LIMIT ${maxBatches}`,
)
const timed = sql<{ up_to: number; hash: Uint8Array; at: number }>(
  (engine) => `
  SELECT up_to, hash, ${engine === 'sqlite' ? "json_extract(entries, '$[#-1][1]')" : 'at'} AS at FROM audit
  WHERE ${ofChain[engine]} AND up_to <= $up_to ORDER BY up_to`,
)
const remove = sql((engine) => `DELETE FROM audit WHERE ${ofChain[engine]} AND up_to <= $up_to`)
const setCheckpoint = sql(`
  INSERT INTO audit_checkpoints (chain, up_to, hash) VALUES ($chain, $up_to, $hash)
  ON CONFLICT (chain) DO UPDATE SET up_to = excluded.up_to, hash = excluded.hash`)
const checkpoints = sql<ChainHead>('SELECT chain, up_to, hash FROM audit_checkpoints ORDER BY chain')

/**
 * Removes old entries of the audit trail. A checkpoint is left in their place, from which the chain is verified. Each removal records
 * all checkpoints in the trail: one that nothing recorded was put there by another program.
 */

async function pruneChain(transaction: Transaction, chain: number, before: number) {
  let entries = 0
  const batches = await transaction.all(oldest, { chain })
  const some = batches.filter(({ up_to, first }, index) => {
    entries += up_to - first + 1
    return index === 0 || entries <= maxEntries
  })
  const end = some.at(-1)
  if (!end) return { removed: 0, more: false }
  const rows = await transaction.all(timed, { chain, up_to: end.up_to })
  const young = rows.findIndex(({ at }) => at >= before)
  const old = young < 0 ? rows : rows.slice(0, young)
  const last = old.at(-1)
  if (!last) return { removed: 0, more: false }
  await transaction.run(remove, { chain, up_to: last.up_to })
  await transaction.run(setCheckpoint, { chain, up_to: last.up_to, hash: last.hash })
  const [first] = batches as [(typeof batches)[number]]
  return { removed: last.up_to - first.first + 1, more: young < 0 && batches.length > 1 }
}

/**
 * Removes some of the entries before a time (milliseconds since the Unix epoch), the oldest first; the newest of each chain stay.
 * `removed`: how many. `more`: another call may remove more.
 */
export const pruneAudit = (database: Database, before: number): Promise<{ removed: number; more: boolean }> =>
  database.write(async (transaction) => {
    const pruned = { removed: 0, more: false }
    for (const { chain } of await transaction.all(chains)) {
      const { removed, more } = await pruneChain(transaction, chain, before)
      pruned.removed += removed
      pruned.more ||= more
    }
    if (pruned.removed === 0) return pruned
    for (const its of await transaction.all(checkpoints)) {
      const who = { caller: 'service', relayer_id: null, request_id: null, result: 200, recorded: false }
      transaction.record({ ...who, at: database.effects.now(), operation: removal, subject: recordOf(its) })
    }
    return pruned
  })
