import { Worker } from 'node:worker_threads'

const max_json_characters = 65_536
const max_waiting = 8

export type KeystoreOutcome =
  | { key: Uint8Array }
  | { refused: 'malformed' | 'too_costly' | 'wrong_passphrase' | 'busy' }

let waiting = 0
let last: Promise<unknown> = Promise.resolve()

/**
 * Decrypts a Web3 Secret Storage document, version 3, in a thread of its own, so that no request waits for its key
 * derivation; one at a time, so that the memory of one is all that it takes.
 */
export async function openKeystore(document: Record<string, unknown>, passphrase: string): Promise<KeystoreOutcome> {
  if (document.version !== 3) return { refused: 'malformed' }
  const json = JSON.stringify(document)
  if (json.length > max_json_characters) return { refused: 'malformed' }
  if (waiting >= max_waiting) return { refused: 'busy' }

  waiting += 1
  const turn = last.then(() => decrypt(json, passphrase))
  last = turn.catch(() => undefined)
  try {
    return await turn
  } finally {
    waiting -= 1
  }
}

const decrypt = (json: string, passphrase: string) =>
  new Promise<KeystoreOutcome>((resolve, reject) => {
    const worker = new Worker(new URL('./keystore-worker.ts', import.meta.url), { workerData: { json, passphrase } })
    worker.once('message', resolve)
    worker.once('error', () => reject(new Error('The keystore thread failed')))
    worker.once('exit', () => reject(new Error('The keystore thread ended without an answer')))
  })
