import type { Seed } from '../crash/seeded-faults.ts'

/** Mistakes that a service of several servers is known for. The harness must see each of them. */
export const revocationFaults: Record<string, Seed[]> = {
  /** A server does not always read the generation anew. */
  'cached-generation': [
    {
      file: 'server/store/postgres/connection.ts',
      text: 'const askedMs = performance.now()',
      instead: `const askedMs = performance.now()
        if (this.#changes > 0 && askedMs % 100 < 20) return this.#changes`,
    },
  ],
}

export const clusterFaults: Record<string, Seed[]> = {
  /** A server continues after it has lost a lease: it ignores the loss, and neither a fence nor a compare-and-set stops it. */
  'lease-without-fencing': [
    {
      file: 'server/store/postgres/write.ts',
      text: 'return this.#present.getStore()',
      instead: 'return undefined',
    },
    {
      file: 'server/store/postgres/membership.ts',
      text: 'isValid: () => performance.now() < validUntil,',
      instead: 'isValid: () => true,',
    },
    {
      file: 'server/store/postgres/membership.ts',
      text: 'for (const { ended } of listeners) ended()',
      instead: '',
    },
    {
      file: 'server/store/queries/update-transactions.ts',
      text: 'if (before.revision !== revision) return undefined',
      instead: '',
    },
  ],
  /** The next nonce is read outside of the database transaction that uses it, without the lock of its relayer. */
  'nonce-outside': [
    {
      file: 'server/store/queries/insert-transactions.ts',
      text: 'refill ? [relayer_row_id, refill.relayer_row_id] : relayer_row_id,',
      instead: 'refill ? [refill.relayer_row_id] : [],',
    },
    {
      file: 'server/store/queries/insert-transactions.ts',
      text: 'readInsertState(dbTransaction, candidates, dbTransaction.effects.now())',
      instead: 'readInsertState(globalThis.outside, candidates, dbTransaction.effects.now())',
    },
    {
      file: 'server/store/queries/insert-transactions.ts',
      text: 'database.groupCommit(creations, wanted, auditEntry) as Promise<InsertResult>',
      instead: `{
  globalThis.outside = database.read
  return database.groupCommit(creations, wanted, auditEntry) as Promise<InsertResult>
}`,
    },
  ],
  /** Only messages wake the work: no server polls for the work of a dead one. */
  'notify-without-poll': [
    {
      file: 'server/store/worker.ts',
      text: 'setInterval(() => this.#pollNow(false), watchMs)',
      instead: 'setInterval(() => undefined, watchMs)',
    },
    { file: 'server/store/worker.ts', text: 'context.share.watch(() => this.poll())', instead: '' },
  ],
}
