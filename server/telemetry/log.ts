import pino from 'pino'
import { escapedLine } from '../lib/printable.ts'

/** The longest time that a line stays in the buffer. SIGKILL loses at most these lines. */
const flushMs = 100
const bufferBytes = 8_192
/** When the reader is slow, lines beyond this many bytes are dropped. */
const maxWaitingBytes = 16 * 1024 * 1024

/** The log, as JSON lines on standard output. Writes are buffered and asynchronous, so that a slow reader delays no request. */
export const openLog = (level: pino.LevelWithSilent): pino.Logger =>
  pino(
    { level, hooks: { streamWrite: escapedLine } },
    pino.destination({
      sync: false,
      minLength: bufferBytes,
      periodicFlush: flushMs,
      maxLength: maxWaitingBytes,
    }),
  )
