import { sql } from '../rules/statement.ts'
import type { DedicatedClient } from './dedicated-client.ts'

/**
 * The rule of caches on several servers. The API keys, relayers, signers and networks in the memory of a server are valid under a
 * generation, a number in the database that each change of such a row replaces in its own database transaction. The number is read
 * from the database
 * - when a request is authenticated (once for all requests that come in one turn of the event loop, or during the previous reading),
 * - again where a relayer and its key are taken for a signature, directly before it; for transactions with a key in this process, before
 *   those that are signed within 10 ms, and again before their bytes are stored,
 * - before each event of a stream.
 * So a pause, a changed policy, a deleted relayer, and a revoked or rotated API key hold on every server when the answer to the change
 * leaves, whichever server gave it. No message between servers is involved. A server that cannot read the number signs nothing: it
 * answers 503. On SQLite, `PRAGMA data_version` has the same part, at the same places.
 */
export function createGeneration(dedicated: Pick<DedicatedClient, 'one'>) {
  let stored: number | undefined
  let changes = 0

  return {
    /** Grows when the stored number has changed, also if that went back with a restored database. */
    async read(): Promise<number> {
      for (;;) {
        const asked_ms = performance.now()
        const row = await dedicated.one(readGeneration)
        if (typeof row?.value !== 'number') throw new Error('The generation is missing')
        if (row.value !== stored) changes += 1
        stored = row.value
        if (performance.now() - asked_ms < max_age_ms) return changes
      }
    },
    /** Rows that were read under the present generation may be wrong: they must be read again. */
    doubt(): void {
      changes += 1
    },
    /** The stored number, as it was read last. */
    stored: () => stored ?? 0,
  }
}

/** A process that was stalled between question and answer asks again: a pause may have been answered meanwhile. */
const max_age_ms = 1_000

const readGeneration = sql<{ value: number }>('SELECT value FROM generation')
