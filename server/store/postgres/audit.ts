import type { AuditEntry } from '../../domain/rows.ts'
import { type AuditHead, batchesAfter, beginning, type ChainHead } from '../audit-batches.ts'
import { type Session, sql, type Transaction } from '../queries/database.ts'
import { UnknownOutcome } from '../store-errors.ts'

interface Chain {
  chain: number
}

const adopt = sql<Chain>(`
  UPDATE audit_chains SET server_row_id = $server_row_id WHERE chain = (
    SELECT chain FROM audit_chains JOIN servers ON servers.row_id = server_row_id WHERE state = 'ended'
    ORDER BY chain LIMIT 1 FOR UPDATE OF audit_chains SKIP LOCKED)
  RETURNING chain`)
const begin = sql<Chain>(`
  INSERT INTO audit_chains (chain, server_row_id, up_to, hash, at)
  SELECT coalesce(max(chain), 0) + 1, $server_row_id, $up_to, $hash, 0 FROM audit_chains
  ON CONFLICT DO NOTHING RETURNING chain`)

/**
 * The chain of the audit trail that a server writes: it continues the chain of a server that has ended, so that there are as many chains
 * as there ever were servers at one time. Should that one still write an entry, the lock of the head keeps the chain whole.
 */
export async function takeChain(read: Session, serverRowId: number): Promise<number> {
  for (;;) {
    const its =
      (await read.one(adopt, { server_row_id: serverRowId })) ??
      (await read.one(begin, { server_row_id: serverRowId, ...beginning }))
    // Another server has begun the same one.
    if (its) return its.chain
  }
}

/** The last entry of a chain, whose row is locked. */
interface Head extends AuditHead {
  /** The time of the last batch, in milliseconds since the Unix epoch. */
  at: number
}

const selectHead = sql<ChainHead>('SELECT chain, up_to, hash FROM audit_chains WHERE chain = $chain')
const lockHead = sql<Head>('SELECT up_to, hash, at FROM audit_chains WHERE chain = $chain FOR UPDATE')
const insertBatch = sql(`
  INSERT INTO audit (chain, up_to, first, at, entries, hash) VALUES ($chain, $up_to, $first, $at, $entries, $hash)`)
const selectBatch = sql('SELECT 1 FROM audit WHERE chain = $chain AND up_to = $up_to AND hash = $hash')
const setHead = sql('UPDATE audit_chains SET up_to = $up_to, hash = $hash, at = $at WHERE chain = $chain')

export type Trail = ReturnType<typeof createTrail>

/** The audit trail of this server: each has a chain of its own (`takeChain`), because one chain would let all commits wait. */
export function createTrail(chain: number) {
  /** Entries whose commit was not answered, and the head that they would have made: it is in the trail or they are not. */
  let doubtful: { entries: AuditEntry[]; made: AuditHead } | undefined

  /** The lock is held until the commit, so that the chain has the order of the commits. */
  const lock = async (transaction: Session) => (await transaction.one(lockHead, { chain })) as Head

  /** Sends all statements at once. */
  async function append(transaction: Session, entries: AuditEntry[], head: Head): Promise<AuditHead> {
    // The times of a chain never go back, so that the trail can be searched by time.
    const at = entries.reduce((latest, entry) => Math.max(latest, entry.at), head.at)
    const batches = batchesAfter(head, entries)
    const { up_to, hash } = batches.at(-1) as AuditHead
    await Promise.all([
      ...batches.map((batch) =>
        transaction.run(insertBatch, {
          chain,
          up_to: batch.up_to,
          first: batch.first,
          at,
          entries: batch.entries,
          hash: batch.hash,
        }),
      ),
      transaction.run(setHead, { chain, up_to, hash, at }),
    ])
    return { up_to, hash }
  }

  return {
    lock,
    append,
    head: async (session: Session): Promise<ChainHead> => (await session.one(selectHead, { chain })) as ChainHead,
    /** Writes entries alone: see `appendAudit` of the store. */
    async appendOnce(
      write: (work: (transaction: Transaction) => Promise<void>) => Promise<void>,
      entries: AuditEntry[],
    ) {
      const before = doubtful?.entries === entries ? doubtful.made : undefined
      let made: AuditHead | undefined
      try {
        await write(async (transaction) => {
          // A former commit that is still under way holds the lock.
          const head = await lock(transaction)
          if (before && (await transaction.one(selectBatch, { chain, ...before }))) return
          made = await append(transaction, entries, head)
        })
        if (before) doubtful = undefined
      } catch (error) {
        if (error instanceof UnknownOutcome && made) doubtful = { entries, made }
        throw error
      }
    },
  }
}
