import cluster, { type Worker } from 'node:cluster'

/** The message that a process sends to the primary process when it is ready. */
export interface Started {
  url: string
  metrics_url: string | undefined
  api_key_file: string | undefined
  demo: boolean
}

export interface Processes extends Started {
  /** Sends SIGTERM to every process, and waits until all have ended. */
  close(): Promise<void>
}

const restartMs = 1_000

/**
 * Runs the service in several processes at one address and on one store, and replaces a process that ends. The others start after
 * the first one is ready, because it creates the secrets and the database. Throws ProcessEnded when a process ends during startup;
 * that process has printed the reason. `secrets`: settings that this process has removed from its own environment.
 */
export async function startProcesses(
  count: number,
  secrets: Record<string, string>,
  write: (line: string) => void,
): Promise<Processes> {
  // Each process accepts connections itself. If the primary process handed them over, one client that opens thousands of them would delay
  // the connections of all others by a second.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  let closing = false
  let settled = false
  const places = new Map<number, number>()
  const fork = (place: number) => {
    const worker = cluster.fork({ ...secrets, RELAYER_PROCESS: String(place) })
    places.set(worker.id, place)
    return worker
  }
  cluster.on('exit', ({ id, process: { pid } }, code, signal) => {
    if (closing || !settled) return
    write(`Process ${pid} ended (${signal ?? code}); starting a replacement.\n`)
    // The delay limits restarts of a process that fails at startup.
    setTimeout(() => closing || fork(places.get(id) ?? 0), restartMs)
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

/** Tells the primary process that this process is ready. */
export function tellStarted({ url, metrics_url, api_key_file, demo }: Started): void {
  process.send?.({ url, metrics_url, api_key_file, demo })
}

function started(worker: Worker): Promise<Started> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('exit', (code) => reject(new ProcessEnded(code)))
  })
}

/** A process ended during startup. */
export class ProcessEnded extends Error {
  readonly code: number

  constructor(code: number) {
    super('A process of the service ended during startup')
    this.code = code
  }
}

function ended(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    worker.once('exit', () => resolve())
    worker.process.kill('SIGTERM')
  })
}
