import type { Store } from '../store/store.ts'

/** The highest row id of a transaction when this process started. While the database is down then, it is read later: fewer rows are new. */
export function createNewestAtStart(store: Pick<Store, 'newestRowId'>): () => Promise<number> {
  let newest: Promise<number> | undefined
  const read = () => {
    newest ??= store.newestRowId()
    newest.catch(() => {
      newest = undefined
    })
    return newest
  }
  void read().catch(() => undefined)
  return read
}
