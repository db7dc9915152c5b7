import { Worker } from 'node:worker_threads'

/** What both threads share: three numbers. */
export const numberOfCommits = 0
export const isClosing = 1
export const isClosed = 2

export interface CheckpointOrder {
  file: string
  state: Int32Array
}

interface Checkpoints {
  /** A database transaction of this connection was committed. Never throws: the caller must hear of the commit. */
  committed(): void
  /** Returns when the thread has closed its connection, so that the last connection to close is another one. */
  close(): void
}

const maxCloseMs = 5_000
/** A thread costs 10 MB and some 50 ms of CPU. So few commits leave a short log, and `close` checkpoints it. */
const commitsWithoutThread = 100

/**
 * Checkpoints in a thread of their own, which starts after the first commits. A checkpoint copies pages from the write-ahead log into the database file and waits for the
 * disk twice. After large commits, on a busy disk, that takes hundreds of milliseconds, in which the event loop would stand still.
 * `failed`: the thread has ended with an error of SQLite.
 */
export function startCheckpoints(file: string, failed: (error: unknown) => void): Checkpoints {
  let commits = 0
  let state: Int32Array | undefined

  return {
    committed() {
      commits += 1
      if (commits === commitsWithoutThread) state = startThread(file, failed)
      if (!state) return
      Atomics.add(state, numberOfCommits, 1)
      Atomics.notify(state, numberOfCommits)
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

/** Undefined when the system gives no thread. */
function startThread(file: string, failed: (error: unknown) => void): Int32Array | undefined {
  const state = new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT))
  const order: CheckpointOrder = { file, state }
  try {
    const worker = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), { workerData: order })
    worker.unref()
    worker.once('message', ({ code, message }) => failed(Object.assign(new Error(message), { code })))
    worker.once('error', failed)
    return state
  } catch (error) {
    failed(error)
    return undefined
  }
}
