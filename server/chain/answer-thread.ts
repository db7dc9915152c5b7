import { parentPort } from 'node:worker_threads'

// The thread of answer-parser.ts: it decodes and parses one answer at a time.

parentPort?.on('message', ({ id, bytes }: { id: number; bytes: Uint8Array }) => {
  try {
    parentPort?.postMessage({ id, value: JSON.parse(Buffer.from(bytes.buffer).toString('utf8')) })
  } catch (error) {
    parentPort?.postMessage({ id, fault: (error as Error).message })
  }
})
