import { hash } from 'node:crypto'
import type { AuditEntry, AuditFilter } from '../../domain/rows.ts'
import { type Database, type DatabaseTransaction, type Session, sql } from './database.ts'

/** An entry in a batch. */
export type AuditRow = [
  sequence: number,
  at: number,
  caller: string,
  operation: string,
  relayer_id: string | null,
  subject: string | null,
  http_status: number,
  request_id: string | null,
  ...last: Last,
]

type Last = [
  // Only where a key service gave one; null only before a count.
  key_request_id?: string | null,
  // Only above one; null only before a failure.
  count?: number | null,
  // Only of a failure; null only before changes.
  failure?: AuditEntry['failure'] | null,
  // Only of a change.
  changes?: AuditEntry['changes'],
]

export type ListedAuditEntry = AuditEntry & { chain: number; sequence: number }

/** Entries that are committed together, and the hash that covers them and all earlier ones. */
export interface AuditBatch extends AuditHead {
  first: number
  entries: string
}

/** The end of a trail: the number of the last entry, and the hash that covers the whole trail. */
export interface AuditHead {
  up_to: number
  hash: Uint8Array
}

/** The end of one of the chains that the trail consists of. */
export interface ChainHead extends AuditHead {
  chain: number
}

/** How many entries the chains have together, and a hash that covers all of them: for a single chain its own. */
export function headOfAll(heads: readonly ChainHead[]): AuditHead {
  const upTo = heads.reduce((sum, head) => sum + head.up_to, 0)
  const [only, other] = heads
  if (!other) return { up_to: upTo, hash: only?.hash ?? beginning.hash }
  const lines = heads.map(({ chain, up_to: its, hash: of }) => `${chain} ${its} ${Buffer.from(of).toString('hex')}\n`)
  return { up_to: upTo, hash: hash('sha256', lines.join(''), 'buffer') }
}

/** Reading one batch takes some milliseconds. */
export const maxBatch = 5_000

export const beginning: AuditHead = { up_to: 0, hash: new Uint8Array(32) }

/** The batches of entries that follow a head. */
export function batchesAfter(head: AuditHead, entries: AuditEntry[]): AuditBatch[] {
  const batches: AuditBatch[] = []
  for (let at = 0; at < entries.length; at += maxBatch) {
    const before = batches.at(-1) ?? head
    const batch = entries.slice(at, at + maxBatch)
    const text = JSON.stringify(batch.map((entry, index) => rowOf(entry, before.up_to + index + 1)))
    batches.push({
      up_to: before.up_to + batch.length,
      first: before.up_to + 1,
      entries: text,
      hash: seal(before.hash, text),
    })
  }
  return batches
}

/** The hash of a batch. */
export const seal = (before: Uint8Array, entries: string): Buffer =>
  hash('sha256', `${Buffer.from(before).toString('hex')}${entries}`, 'buffer')

/** The first fault of the batch that follows a head; undefined when it is intact. */
export function faultOfBatch({ up_to, first, entries, hash }: AuditBatch, before: AuditHead): string | undefined {
  if (first !== before.up_to + 1) return `Entries are missing between ${before.up_to} and ${first}`
  if (!seal(before.hash, entries).equals(hash)) return `Entries ${first} to ${up_to} are not what was written`
  // Sealed as they are, so these hold unless this service made a mistake.
  const numbers = (JSON.parse(entries) as AuditRow[]).map(([sequence]) => sequence)
  const isWhole = numbers.length === up_to - first + 1 && numbers.every((number, index) => number === first + index)
  return isWhole ? undefined : `Entries ${first} to ${up_to} are not numbered one after the other`
}

const rowOf = (entry: AuditEntry, sequence: number): AuditRow => [
  sequence,
  entry.at,
  entry.caller,
  entry.operation,
  entry.relayer_id,
  entry.subject,
  entry.http_status,
  entry.request_id,
  ...(lastOf(entry) as Last),
]

function lastOf({ key_request_id, count = 1, failure, changes }: AuditEntry): unknown[] {
  const all = [key_request_id, count > 1 ? count : undefined, failure, changes]
  return all.slice(0, all.findLastIndex((one) => one !== undefined) + 1).map((one) => one ?? null)
}

/** The entries of a batch, newest first. */
export const readBatch = (chain: number, entries: string): ListedAuditEntry[] =>
  (JSON.parse(entries) as AuditRow[]).reverse().map((row) => readEntry(chain, row))

const readEntry = (
  chain: number,
  [sequence, at, caller, operation, relayerId, subject, httpStatus, requestId, ...more]: AuditRow,
): ListedAuditEntry => ({
  chain,
  sequence,
  at,
  caller,
  operation,
  relayer_id: relayerId,
  subject,
  http_status: httpStatus,
  request_id: requestId,
  ...readLast(more),
})

const readLast = ([keyRequestId, count, failure, changes]: Last): Partial<AuditEntry> => ({
  ...(keyRequestId != null && { key_request_id: keyRequestId }),
  ...(count != null && { count }),
  ...(failure && { failure }),
  ...(changes && { changes }),
})

/** The lowest HTTP status of a refusal. */
export const firstRefusal = 400

export function matcher(filter: AuditFilter): (entry: ListedAuditEntry) => boolean {
  const { after, before, operation, outcome, exclude_service: isWithoutOwn, ...same } = filter
  const part = operation?.toLowerCase()
  const wanted = Object.entries(same) as [keyof typeof same, string][]
  return (entry) =>
    (after === undefined || entry.at > after) &&
    (before === undefined || entry.at < before) &&
    (part === undefined || entry.operation.toLowerCase().includes(part)) &&
    (outcome === undefined || entry.http_status >= firstRefusal === (outcome === 'refused')) &&
    (!isWithoutOwn || entry.caller !== 'service') &&
    wanted.every(([name, value]) => entry[name] === value)
}

/** The operation of an entry that records a checkpoint, and its subject. */
const removal = 'removeAuditEntries'
const recordOf = ({ up_to, hash }: AuditHead): string => `${up_to} ${Buffer.from(hash).toString('hex')}`

/** The checkpoints that the entries of a batch record. */
export function recordsIn(entries: string): string[] {
  if (!entries.includes(`"${removal}"`)) return []
  const rows = JSON.parse(entries) as AuditRow[]
  return rows.flatMap(([, , , operation, , subject]) => (operation === removal && subject !== null ? [subject] : []))
}

/** The fault of a checkpoint that nothing in the trail records. */
export const faultOfCheckpoint = (its: AuditHead, records: ReadonlySet<string>): string | undefined =>
  records.has(recordOf(its))
    ? undefined
    : `Entries 1 to ${its.up_to} are missing: the checkpoint in their place is not recorded in the trail`

/** A head that was recorded elsewhere, with its chain where that is known. */
export type ToldHead = AuditHead & { chain?: number }

/** The heads that are not older than what was removed. A moved trail has the number 0. */
export const comparable = (told: ToldHead[], checkpoints: ChainHead[]): ToldHead[] =>
  told.filter(
    (its) => !checkpoints.some(({ chain, up_to }) => (chain === its.chain || chain === 0) && its.up_to < up_to),
  )

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
const deleteAuditEntries = sql((engine) => `DELETE FROM audit WHERE ${ofChain[engine]} AND up_to <= $up_to`)
const setCheckpoint = sql(`
  INSERT INTO audit_checkpoints (chain, up_to, hash) VALUES ($chain, $up_to, $hash)
  ON CONFLICT (chain) DO UPDATE SET up_to = excluded.up_to, hash = excluded.hash`)
const checkpoints = sql<ChainHead>('SELECT chain, up_to, hash FROM audit_checkpoints ORDER BY chain')

async function pruneChain(dbTransaction: DatabaseTransaction, chain: number, before: number) {
  let entries = 0
  const batches = await dbTransaction.all(oldest, { chain })
  const some = batches.filter(({ up_to, first }, index) => {
    entries += up_to - first + 1
    return index === 0 || entries <= maxEntries
  })
  const end = some.at(-1)
  if (!end) return { removed: 0, more: false }
  const rows = await dbTransaction.all(timed, { chain, up_to: end.up_to })
  const young = rows.findIndex(({ at }) => at >= before)
  const old = young < 0 ? rows : rows.slice(0, young)
  const last = old.at(-1)
  if (!last) return { removed: 0, more: false }
  await dbTransaction.run(deleteAuditEntries, { chain, up_to: last.up_to })
  await dbTransaction.run(setCheckpoint, { chain, up_to: last.up_to, hash: last.hash })
  const [first] = batches as [(typeof batches)[number]]
  return { removed: last.up_to - first.first + 1, more: young < 0 && batches.length > 1 }
}

/**
 * Removes some of the entries before a time (milliseconds since the Unix epoch), the oldest first; the newest of each chain stay.
 * A checkpoint is left in their place, from which the chain is verified. Each removal records all checkpoints in the trail: one that
 * nothing recorded was put there by another program. `removed`: how many. `more`: another call may remove more.
 */
export const pruneAudit = (database: Database, before: number): Promise<{ removed: number; more: boolean }> =>
  database.write(async (dbTransaction) => {
    const pruned = { removed: 0, more: false }
    for (const { chain } of await dbTransaction.all(chains)) {
      const { removed, more } = await pruneChain(dbTransaction, chain, before)
      pruned.removed += removed
      pruned.more ||= more
    }
    if (pruned.removed === 0) return pruned
    for (const its of await dbTransaction.all(checkpoints)) {
      const who = { caller: 'service', relayer_id: null, request_id: null, http_status: 200, recorded: false }
      dbTransaction.record({ ...who, at: database.effects.now(), operation: removal, subject: recordOf(its) })
    }
    return pruned
  })

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
const batchesAfterAuditCheck = sql<AuditBatch>(`
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
    const batches = await session.all(batchesAfterAuditCheck, { chain, after: head.up_to })
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
