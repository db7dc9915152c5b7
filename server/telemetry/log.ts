import pino from 'pino'

/** How long a line of a request may wait for company; kill -9 loses as much, and nothing is done by the log. */
const gather_ms = 100
const gathered_bytes = 65_536
/** What nobody reads is dropped beyond this, and not kept. */
const max_waiting_bytes = 16 * 1024 * 1024
const error_level = 50

/**
 * The log, on standard output. A write to it costs more than all else that is done for a request's line, so lines gather and go
 * out together, by a thread, so that a slow reader holds up no request. An error's line, and all at the end of the process, is
 * written before anything else is done.
 */
export function createLog(level: pino.LevelWithSilent): pino.Logger {
  const out = pino.destination({ sync: false, maxLength: max_waiting_bytes, contentMode: 'buffer' })
  let gathered = Buffer.allocUnsafe(gathered_bytes)
  let begin = 0
  let end = 0
  let timer: NodeJS.Timeout | undefined

  const flush = (atOnce: boolean) => {
    clearTimeout(timer)
    timer = undefined
    // In this mode it takes bytes, which its type does not know.
    if (end > begin) out.write(gathered.subarray(begin, end) as unknown as string)
    begin = end
    if (atOnce) out.flushSync()
  }

  /** A line is encoded when it comes: a string of many lines is a tree of all their pieces, slow to walk through later. */
  const gather = (line: string) => {
    const most_bytes = line.length * 3
    if (most_bytes > gathered.length - end) {
      flush(false)
      gathered = Buffer.allocUnsafe(Math.max(gathered_bytes, most_bytes))
      begin = 0
      end = 0
    }
    end += gathered.write(line, end)
  }

  // First of all who listen: the destination closes itself then.
  process.prependListener('beforeExit', () => flush(true))
  process.prependListener('exit', () => flush(true))

  const destination = {
    // Pino tells the level of each line to a destination that asks for it.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string) {
      gather(line)
      if (destination.lastLevel >= error_level) flush(true)
      else timer ??= setTimeout(flush, gather_ms, false).unref()
      destination.lastLevel = 0
    },
  }
  return pino({ level }, destination)
}
