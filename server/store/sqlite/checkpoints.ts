import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

/** What both threads share: three numbers. */
export const numberOfCommits = 0
export const isClosing = 1
export const isClosed = 2
/** 32 MB. A log starts again after a moment in which all of it is copied. */
export const longPages = 8_000

/** What SQLite says of a checkpoint: pages in the log, and how many of them are in the database file. */
export interface Progress {
  busy: 0 | 1
  log: number
  checkpointed: number
}

export interface CheckpointOrder {
  file: string
  state: Int32Array
}

interface Told {
  progress(): Progress
  started(): void
  failed(error: unknown): void
}

interface Checkpoints {
  /** A database transaction of this connection was committed. Never throws: the caller must hear of the commit. */
  committed(): void
  /**
   * Resolves, before each commit, when the log is not long or is copied. Without this pause it grows until a commit copies it, while the
   * event loop stands still: large transactions of one key did that for 400 ms.
   */
  keptUp(): Promise<void>
  /** Returns when the thread has closed its connection, so that the last connection to close is another one. */
  close(): void
}

const maxCloseMs = 5_000
/** A thread costs 10 MB and some 50 ms of CPU. Until then SQLite's own checkpoints, at 4 MB, do. */
const commitsWithoutThread = 100
const lookMs = 2
/** The disk may be slow: then the log grows. */
const maxWaitMs = 1_000

/**
 * Checkpoints in a thread of their own, which starts after the first commits. A checkpoint copies pages from the write-ahead log into the
 * database file and waits for the disk twice. After large commits, on a busy disk, that takes hundreds of milliseconds, in which the event
 * loop would stand still. `progress`: of the log now. `started`: the thread is on the file. `failed`: it has ended with an error of SQLite.
 */
export function startCheckpoints(file: string, told: Told): Checkpoints {
  let commits = 0
  let state: Int32Array | undefined

  return {
    committed() {
      commits += 1
      if (commits === commitsWithoutThread) state = startThread(file, told)
      if (!state) return
      Atomics.add(state, numberOfCommits, 1)
      Atomics.notify(state, numberOfCommits)
    },
    async keptUp() {
      const end = performance.now() + maxWaitMs
      while (state && isTooLong(told.progress()) && performance.now() < end) await pause(lookMs)
    },
    close() {
      if (!state) return
      Atomics.store(state, isClosing, 1)
      Atomics.notify(state, isClosing)
      this.committed()
      Atomics.wait(state, isClosed, 0, maxCloseMs)
    },
  }
}

const isTooLong = ({ log, checkpointed }: Progress) => log > longPages && checkpointed < log

/** Undefined when the system gives no thread. */
function startThread(file: string, { started, failed }: Told): Int32Array | undefined {
  const state = new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT))
  const order: CheckpointOrder = { file, state }
  try {
    const worker = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), { workerData: order })
    worker.unref()
    worker.on('message', ({ code, message }) =>
      message === undefined ? started() : failed(Object.assign(new Error(message), { code })),
    )
    worker.once('error', failed)
    return state
  } catch (error) {
    failed(error)
    return undefined
  }
}
