import { Worker } from 'node:worker_threads'

/** A longer answer is parsed in a thread, so that the thread that serves requests does not wait for it. */
const maxHereBytes = 1024 * 1024

interface Parsed {
  id: number
  value?: unknown
  fault?: string
}

let thread: Worker | undefined
const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
let lastId = 0

/** Parses a node's answer, whose size and number of values were counted before. Rejects when it is not JSON. */
export async function parseAnswer(bytes: Buffer): Promise<unknown> {
  if (bytes.length <= maxHereBytes) return JSON.parse(bytes.toString('utf8'))
  thread ??= startThread()
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  lastId += 1
  waiting.set(lastId, { resolve, reject })
  // Copied, because small buffers share memory with others.
  const copy = new Uint8Array(bytes)
  thread.postMessage({ id: lastId, bytes: copy }, [copy.buffer])
  return promise
}

/** One thread for all nodes: it is started by the first large answer, and does not keep the process alive. */
function startThread(): Worker {
  const worker = new Worker(new URL('./answer-thread.ts', import.meta.url))
  worker.on('message', ({ id, value, fault }: Parsed) => {
    const asked = waiting.get(id)
    waiting.delete(id)
    if (fault === undefined) asked?.resolve(value)
    else asked?.reject(new Error(fault))
  })
  worker.once('error', (error) => {
    thread = undefined
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  })
  worker.unref()
  return worker
}
