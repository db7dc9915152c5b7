import cluster, { type Worker } from 'node:cluster'

/** What a process of several tells the first one when it serves. */
export interface Started {
  url: string
  metrics_url: string | undefined
  api_key_file: string | undefined
  demo: boolean
}

export interface Processes extends Started {
  /** Asks every process to end, and waits for it. */
  close(): Promise<void>
}

const restart_ms = 1_000

/**
 * Runs the service in several processes at one address and on one store, and starts another for one that ends. The first one is
 * waited for: it makes the secrets and the database. Throws when it ends before it serves; it has said why by then.
 */
export async function startProcesses(count: number, write: (line: string) => void): Promise<Processes> {
  let closing = false
  let settled = false
  const places = new Map<number, number>()
  const fork = (place: number) => {
    const worker = cluster.fork({ RELAYER_PROCESS: String(place) })
    places.set(worker.id, place)
    return worker
  }
  cluster.on('exit', ({ id, process: { pid } }, code, signal) => {
    if (closing || !settled) return
    write(`The process ${pid} ended (${signal ?? code}); another is started.\n`)
    // One that cannot start any more is not tried a thousand times a second.
    setTimeout(() => closing || fork(places.get(id) ?? 0), restart_ms)
  })

  const first = await started(fork(0))
  await Promise.all(Array.from({ length: count - 1 }, (_, index) => started(fork(index + 1))))
  settled = true

  return {
    ...first,
    async close() {
      closing = true
      await Promise.all(Object.values(cluster.workers ?? {}).map((worker) => worker && ended(worker)))
    },
  }
}

/** Says in one of several processes that it serves. */
export function tellStarted({ url, metrics_url, api_key_file, demo }: Started): void {
  process.send?.({ url, metrics_url, api_key_file, demo })
}

function started(worker: Worker): Promise<Started> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('exit', (code) => reject(new ProcessEnded(code)))
  })
}

/** One of several processes did not come to serve. */
export class ProcessEnded extends Error {
  readonly code: number

  constructor(code: number) {
    super('A process of the service ended before it served')
    this.code = code
  }
}

function ended(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    worker.once('exit', () => resolve())
    worker.process.kill('SIGTERM')
  })
}
