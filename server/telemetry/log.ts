import pino from 'pino'

/** How long a line may wait for others: kill -9 loses that much of the log, and nothing else. */
const flush_ms = 100
const buffer_bytes = 8_192
/** Lines that nobody reads are dropped beyond this. */
const max_waiting_bytes = 16 * 1024 * 1024

/** The log, on standard output. Lines are buffered and written by a thread, so that a slow reader holds up no request. */
export const createLog = (level: pino.LevelWithSilent): pino.Logger =>
  pino(
    { level },
    pino.destination({
      sync: false,
      minLength: buffer_bytes,
      periodicFlush: flush_ms,
      maxLength: max_waiting_bytes,
    }),
  )
