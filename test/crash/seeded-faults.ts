import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ColumnName } from './judge.ts'

/** A mistake, as it is made in the text of one file. */
export interface Seed {
  /** From the project's folder. */
  file: string
  /** The present text, which must occur exactly once. */
  text: string
  /** Its replacement. */
  instead: string
}

export interface SeededFault<Column = ColumnName> extends Seed {
  /** The columns of the scoreboard that may catch it. A violation in another column has another cause. */
  caught_by: Column[]
}

/** Typical mistakes of a relayer. The harness must detect each of them, or a clean scoreboard proves nothing. */
export const seededFaults = {
  /** The next nonce is a variable in memory, outside of the database transaction. */
  'nonce-in-memory': {
    file: 'server/store/queries/insert-transactions.ts',
    text: 'database.groupCommit(creations, wanted, auditEntry) as Promise<InsertResult>',
    instead: `{
  if (wanted.nonce !== undefined) return database.groupCommit(creations, wanted) as Promise<InsertResult>
  const account = wanted.chain_id + wanted.from
  const nonce = nonces.get(account) ?? 0
  nonces.set(account, nonce + 1)
  return database.groupCommit(creations, { ...wanted, nonce }) as Promise<InsertResult>
}
const nonces = new Map()
`,
    caught_by: ['answers', 'unconfirmed', 'lost', 'gaps', 'counter'],
  },
  /** A node has the signed bytes before the database does. */
  'broadcast-before-commit': {
    file: 'server/sender/broadcast.ts',
    text: 'const rows = await commit(',
    instead: `const raws = signed.flatMap(({ bytes }) => (bytes ? [bytes.raw] : []))
  await tick.networkClient.mempoolOf({ submission: null }).send(raws)
  const rows = await commit(`,
    caught_by: ['unrecorded', 'events'],
  },
  /** The event is written later, in a separate database transaction. */
  'event-outside': {
    file: 'server/store/queries/events.ts',
    text: 'await writeEvents(dbTransaction, rows.map(transactionEvent))',
    instead: 'void setTimeout(writeEvents, 20_000, { ...dbTransaction }, rows.map(transactionEvent))',
    caught_by: ['events'],
  },
} satisfies Record<string, SeededFault>

export type FaultName = keyof typeof seededFaults

export const isFaultName = (name: string): name is FaultName => Object.hasOwn(seededFaults, name)

export const pathOf = ({ file }: Seed): string => join(import.meta.dirname, '..', '..', file)

/** The source with the fault. Throws when the source no longer contains the text, so that an outdated fault is noticed. */
export function seed(fault: Seed, source: string): string {
  const parts = source.split(fault.text)
  if (parts.length !== 2)
    throw new Error(`${fault.file} contains the text ${parts.length - 1} times, not once: ${fault.text}`)
  return parts.join(fault.instead)
}

/** Throws when the fault cannot be seeded. */
export const checkFault = (fault: Seed): void => void seed(fault, readFileSync(pathOf(fault), 'utf8'))
