import { openSqliteStore } from '../../server/store/sqlite.ts'

// A process of killed-between-batches.test.ts: does the work on a database in batches, and kills itself after a number of commits.

export interface BatchesOrder {
  file: string
  work: { compact: { chain_id: number; address: string; latest: number } } | { change: 'go on' }
  /** The commit after which it dies. */
  last_commit: number
}

if (import.meta.main) {
  const { file, work, last_commit }: BatchesOrder = JSON.parse(process.argv[2] ?? '')
  let commits = 0
  const store = openSqliteStore(file, {
    now: () => 0,
    makeId: () => crypto.randomUUID(),
    checkEvent: () => undefined,
    observer: {
      committed() {
        commits += 1
        if (commits === last_commit) process.kill(process.pid, 'SIGKILL')
      },
    },
  })
  if ('compact' in work) {
    const { chain_id, address, latest } = work.compact
    await store.compactNonces(chain_id, address, latest)
  } else while (await store.continueBulkChange());
  await store.close()
}
