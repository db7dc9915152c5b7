import { Worker } from 'node:worker_threads'
import { type KeystoreFault, keystoreFault } from './keystore-fault.ts'

const maxJsonCharacters = 65_536
const maxWaiting = 8
/** The most expensive accepted document takes 2 s on a slow core. */
const maxTimeMs = 20_000

export type KeystoreOutcome =
  | { key: Uint8Array }
  | { refused: 'malformed' | 'wrong_passphrase' | 'other_address' | 'busy' | 'timed_out' }
  | ({ refused: 'faulty' } & KeystoreFault)

let waiting = 0
let last: Promise<unknown> = Promise.resolve()

/**
 * Decrypts a Web3 Secret Storage document, version 3, in a worker thread, so that its key derivation delays no other request. Only
 * one document is decrypted at a time, which limits the memory. A document that is too costly is refused before any work. The
 * thread is terminated after `timeMs`.
 */
export async function openKeystore(
  document: Record<string, unknown>,
  passphrase: string,
  timeMs = maxTimeMs,
): Promise<KeystoreOutcome> {
  if (document.version !== 3) return { refused: 'malformed' }
  const json = JSON.stringify(document)
  if (json.length > maxJsonCharacters) return { refused: 'malformed' }
  const fault = keystoreFault(document)
  if (fault) return { refused: 'faulty', ...fault }
  if (waiting >= maxWaiting) return { refused: 'busy' }

  waiting += 1
  const turn = last.then(() => decrypt(json, passphrase, timeMs))
  last = turn.catch(() => undefined)
  try {
    return await turn
  } finally {
    waiting -= 1
  }
}

/** Settles after the thread has ended and its memory is released. */
const decrypt = (json: string, passphrase: string, timeMs: number) =>
  new Promise<KeystoreOutcome>((resolve, reject) => {
    const worker = new Worker(new URL('./keystore-worker.ts', import.meta.url), { workerData: { json, passphrase } })
    let outcome: KeystoreOutcome | undefined
    const timer = setTimeout(() => {
      outcome = { refused: 'timed_out' }
      void worker.terminate()
    }, timeMs)
    worker.once('message', (answer: KeystoreOutcome) => {
      outcome ??= answer
    })
    worker.once('error', () => reject(new Error('The keystore thread failed')))
    worker.once('exit', () => {
      clearTimeout(timer)
      if (outcome) resolve(outcome)
      else reject(new Error('The keystore thread ended without a result'))
    })
  })
