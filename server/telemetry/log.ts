import pino from 'pino'
import { escapedLine } from '../lib/printable.ts'

/** The longest time that a line stays in the buffer. SIGKILL loses at most these lines. */
const flush_ms = 100
const buffer_bytes = 8_192
/** When the reader is slow, lines beyond this many bytes are dropped. */
const max_waiting_bytes = 16 * 1024 * 1024

/** The log, as JSON lines on standard output. Writes are buffered and asynchronous, so that a slow reader delays no request. */
export const createLog = (level: pino.LevelWithSilent): pino.Logger =>
  pino(
    { level, hooks: { streamWrite: escapedLine } },
    pino.destination({
      sync: false,
      minLength: buffer_bytes,
      periodicFlush: flush_ms,
      maxLength: max_waiting_bytes,
    }),
  )
