import { createLease } from '../background/lease.ts'
import { createWorker, type Worker, type WorkerDependencies } from '../background/worker.ts'
import type { Storage } from './storage.ts'

/** A worker that one process at a time runs, under the lease of that name. */
export function startWorker(
  name: string,
  { store, audit, logger }: Storage,
  { work, find }: Pick<WorkerDependencies, 'work' | 'find'>,
): Worker {
  const lease = createLease(store, name)
  const worker = createWorker({
    work(row_id, signal) {
      audit.flushOverdue()
      return work(row_id, signal)
    },
    find,
    claim: lease.claim,
    version: store.version,
    logger,
  })
  return {
    ...worker,
    async stop() {
      await worker.stop()
      await lease.release()
    },
  }
}
