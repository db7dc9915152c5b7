import pino from 'pino'

/** How long a line of a request may wait for company; kill -9 loses as much, and nothing is done by the log. */
const gather_ms = 100
const max_gathered_characters = 16_384
/** What nobody reads is dropped beyond this, and not kept. */
const max_waiting_bytes = 16 * 1024 * 1024
const error_level = 50

/**
 * The log, on standard output. A write to it costs more than all else that is done for a request's line, so lines gather and go
 * out together, by a thread, so that a slow reader holds up no request. An error's line, and all at the end of the process, is
 * written before anything else is done.
 */
export function createLog(level: pino.LevelWithSilent): pino.Logger {
  const out = pino.destination({ sync: false, maxLength: max_waiting_bytes })
  let gathered = ''
  let timer: NodeJS.Timeout | undefined

  const flush = (atOnce: boolean) => {
    clearTimeout(timer)
    timer = undefined
    const text = gathered
    gathered = ''
    if (text !== '') out.write(text)
    if (atOnce) out.flushSync()
  }
  // First of all who listen: the destination closes itself then.
  process.prependListener('beforeExit', () => flush(true))
  process.prependListener('exit', () => flush(true))

  const destination = {
    // Pino tells the level of each line to a destination that asks for it.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string) {
      gathered += line
      const isError = destination.lastLevel >= error_level
      if (isError || gathered.length >= max_gathered_characters) flush(isError)
      else timer ??= setTimeout(flush, gather_ms, false).unref()
      destination.lastLevel = 0
    },
  }
  return pino({ level }, destination)
}
