import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { type CheckpointOrder, isClosed, isClosing, longPages, numberOfCommits, type Progress } from './checkpoints.ts'

// The thread of checkpoints.ts. It waits for commits without an event loop, and posts that it has opened the file, and SQLite's error.

/** As many pages of the log as SQLite's own automatic checkpoint waits for: 4 MB. */
const duePages = 1_000
/** Between two looks at the length of the log. */
const restMs = 50
/** Commits during a checkpoint need another one, and the log restarts only when none is left. */
const maxRounds = 5

const { file, state }: CheckpointOrder = workerData
const db = new Database(file)
// Compiled once: each call of db.pragma() compiles a statement, whose memory V8 does not count. This thread has so little garbage
// that it does not collect them: 150 MB in an hour.
const noop = db.prepare<[], Progress>('PRAGMA wal_checkpoint(NOOP)')
const passive = db.prepare<[], Progress>('PRAGMA wal_checkpoint(PASSIVE)')
const checkpoint = (statement: typeof noop) => statement.get() as Progress

function checkpointWhatIsDue(): void {
  let { log, checkpointed } = checkpoint(noop)
  if (log - checkpointed < (log > longPages ? 1 : duePages)) return
  for (let round = 0; round < maxRounds && checkpointed < log; round += 1) {
    const done = checkpoint(passive)
    if (done.busy === 1) return
    ;({ log, checkpointed } = done)
  }
}

try {
  parentPort?.postMessage({})
  while (Atomics.load(state, isClosing) === 0) {
    const seen = Atomics.load(state, numberOfCommits)
    checkpointWhatIsDue()
    Atomics.wait(state, isClosing, 0, restMs)
    if (Atomics.load(state, isClosing) === 0) Atomics.wait(state, numberOfCommits, seen)
  }
} catch (error) {
  const { code, message } = error as { code?: string; message: string }
  parentPort?.postMessage({ code, message })
} finally {
  db.close()
  Atomics.store(state, isClosed, 1)
  Atomics.notify(state, isClosed)
}
