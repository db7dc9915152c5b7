import { Worker, type WorkerContext, type WorkKind, type WorkShare } from '../store/worker.ts'
import type { Foundation } from './foundation.ts'

/** A worker for this process's part of a kind of work. */
export function startWorker(
  kind: WorkKind,
  { store, audit, elapsed, logger, observer }: Foundation,
  { work, find, leave }: Pick<WorkerContext, 'work' | 'find' | 'leave'>,
  share: WorkShare = store.share(kind),
): Worker {
  return new Worker({
    work(rowId, signal) {
      audit.flushOverdue()
      return work(rowId, signal)
    },
    find,
    share,
    ...(leave && { leave }),
    version: store.version,
    elapsed,
    logger,
    failed: () => observer.backgroundFailed?.(kind),
  })
}
