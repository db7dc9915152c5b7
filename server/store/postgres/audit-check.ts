import {
  type AuditBatch,
  type AuditHead,
  beginning,
  type ChainHead,
  comparable,
  faultOfBatch,
  faultOfCheckpoint,
  recordsIn,
  type ToldHead,
} from '../audit-batches.ts'
import { type Session, sql } from '../queries/database.ts'

export interface TrailVerdict {
  /** The heads of the chains as far as they are intact. */
  heads: ChainHead[]
  /** In place of the entries that were removed by their age. */
  checkpoints: ChainHead[]
  /** How many of the recorded heads are older than these. */
  skipped: number
  /** The first fault; undefined when the whole trail is intact. */
  fault: string | undefined
}

const selectHeads = sql<ChainHead>('SELECT chain, up_to, hash FROM audit_chains ORDER BY chain')
const batchesAfter = sql<AuditBatch>(`
  SELECT up_to, first, entries, hash FROM audit WHERE chain = $chain AND up_to > $after ORDER BY up_to LIMIT 20`)
const selectCheckpoints = sql<ChainHead>('SELECT chain, up_to, hash FROM audit_checkpoints ORDER BY chain')
const foreignBatch = sql<{ chain: number }>(
  'SELECT chain FROM audit WHERE chain NOT IN (SELECT chain FROM audit_chains) LIMIT 1',
)
// OFFSET 0: each chain is searched by the index. Without the chain, each recorded head would read the whole trail.
const batch = sql(`
  SELECT 1 FROM audit_chains, LATERAL (
    SELECT 1 FROM audit WHERE audit.chain = audit_chains.chain AND up_to = $up_to AND hash = $hash OFFSET 0
  ) AS its
  UNION ALL SELECT 1 FROM audit_checkpoints WHERE up_to = $up_to AND hash = $hash`)

/**
 * Recomputes all chains from their first entries. `session`: all statements must see one state. `told`: heads that were recorded elsewhere
 * (the logs of the servers) and must be in the trail; only they show that no entries are missing at the end.
 */
export async function checkTrail(session: Session, told: ToldHead[] = []): Promise<TrailVerdict> {
  const checkpoints = await session.all(selectCheckpoints)
  const compared = comparable(told, checkpoints)
  const heads: ChainHead[] = []
  const records = new Set<string>()
  const verdict = (fault: string | undefined) => ({
    ...{ heads, checkpoints, fault },
    skipped: told.length - compared.length,
  })
  for (const known of await session.all(selectHeads)) {
    const from = checkpoints.find(({ chain }) => chain === known.chain) ?? beginning
    const { head, fault } = await checkChain(session, known, from, records)
    if (head.up_to > 0) heads.push(head)
    if (fault !== undefined) return verdict(`Chain ${known.chain}: ${fault}`)
  }
  const foreign = await session.one(foreignBatch)
  if (foreign) return verdict(`Chain ${foreign.chain}: its head is missing`)
  for (const its of checkpoints) {
    const fault = faultOfCheckpoint(its, records)
    if (fault !== undefined) return verdict(`Chain ${its.chain}: ${fault}`)
  }
  for (const { up_to, hash } of compared) {
    if (await session.one(batch, { up_to, hash })) continue
    return verdict(`The recorded head of entry ${up_to} is not in the trail: entries were removed or changed`)
  }
  return verdict(undefined)
}

/** `from`: what the oldest batch follows. The checkpoints that the entries record are added to `records`. */
async function checkChain(
  session: Session,
  { chain, ...last }: ChainHead,
  from: AuditHead,
  records: Set<string>,
): Promise<{ head: ChainHead; fault: string | undefined }> {
  let head: AuditHead = { up_to: from.up_to, hash: from.hash }
  const sofar = (fault: string | undefined) => ({ head: { chain, ...head }, fault })
  for (;;) {
    const batches = await session.all(batchesAfter, { chain, after: head.up_to })
    for (const its of batches) {
      const fault = faultOfBatch(its, head)
      if (fault !== undefined) return sofar(fault)
      head = { up_to: its.up_to, hash: its.hash }
      for (const record of recordsIn(its.entries)) records.add(record)
    }
    if (batches.length > 0) continue
    const isWhole = head.up_to === last.up_to && Buffer.compare(head.hash, last.hash) === 0
    return sofar(isWhole ? undefined : `Entries are missing between ${head.up_to} and ${last.up_to}`)
  }
}
