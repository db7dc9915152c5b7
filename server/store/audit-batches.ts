import { hash } from 'node:crypto'
import type { AuditEntry, AuditFilter } from '../domain/rows.ts'

/** An entry in a batch. */
export type AuditRow = [
  sequence: number,
  at: number,
  caller: string,
  operation: string,
  relayer_id: string | null,
  subject: string | null,
  result: number,
  request_id: string | null,
  // Only where a key service gave one; null only before a count.
  key_request_id?: string | null,
  // Only above one.
  count?: number,
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
  entry.result,
  entry.request_id,
  ...lastOf(entry),
]

function lastOf({ key_request_id, count = 1 }: AuditEntry): [] | [string] | [string | null, number] {
  if (count > 1) return [key_request_id ?? null, count]
  return key_request_id === undefined ? [] : [key_request_id]
}

/** The entries of a batch, newest first. */
export const readBatch = (chain: number, entries: string): ListedAuditEntry[] =>
  (JSON.parse(entries) as AuditRow[]).reverse().map((row) => readEntry(chain, row))

const readEntry = (
  chain: number,
  [sequence, at, caller, operation, relayerId, subject, result, requestId, keyRequestId, count]: AuditRow,
): ListedAuditEntry => ({
  chain,
  sequence,
  at,
  caller,
  operation,
  relayer_id: relayerId,
  subject,
  result,
  request_id: requestId,
  ...(keyRequestId != null && { key_request_id: keyRequestId }),
  ...(count !== undefined && { count }),
})

/** The lowest HTTP status of a refusal. */
export const firstRefusal = 400

export function matcher(filter: AuditFilter): (entry: ListedAuditEntry) => boolean {
  const { after, before, operation, outcome, callers, ...same } = filter
  const part = operation?.toLowerCase()
  const wanted = Object.entries(same) as [keyof typeof same, string][]
  return (entry) =>
    (after === undefined || entry.at > after) &&
    (before === undefined || entry.at < before) &&
    (part === undefined || entry.operation.toLowerCase().includes(part)) &&
    (outcome === undefined || entry.result >= firstRefusal === (outcome === 'refused')) &&
    (callers === undefined || entry.caller !== 'service') &&
    wanted.every(([name, value]) => entry[name] === value)
}

/** The operation of an entry that records a checkpoint, and its subject. */
export const removal = 'removeAuditEntries'
export const recordOf = ({ up_to, hash }: AuditHead): string => `${up_to} ${Buffer.from(hash).toString('hex')}`

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
