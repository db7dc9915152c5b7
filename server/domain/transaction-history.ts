import type { HistoryEntry } from '../../generated/openapi.ts'

/** An entry as it is stored; the name of the caller is read with it. */
export type StoredHistoryEntry = Omit<HistoryEntry, 'caller_name'>

const maxEntries = 20
const maxTextLength = 200

/** The history with another entry: a transaction that changes more often keeps the newest ones. */
export const withEntry = (
  history: StoredHistoryEntry[] | null,
  entry: Pick<HistoryEntry, 'at' | 'event'> & Partial<StoredHistoryEntry>,
): StoredHistoryEntry[] => [
  ...(history ?? []).slice(1 - maxEntries),
  { caller: null, block_number: null, changes: [], ...entry },
]

interface Content {
  to: string | null
  value: string
  data: string | null
}
const members = ['to', 'value', 'data'] as const

/** The members of the content that a replacement changes. */
export const changesOfContent = (before: Content, after: Content): HistoryEntry['changes'] =>
  members
    .filter((member) => before[member] !== after[member])
    .map((member) => ({ member, before: shortened(before[member]), after: shortened(after[member]) }))

const shortened = (text: string | null): string | null =>
  text === null || text.length <= maxTextLength ? text : `${text.slice(0, 74)}… (${text.length / 2 - 1} bytes)`
