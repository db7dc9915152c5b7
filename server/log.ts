import pino from 'pino'

/** How long a line of a request may wait for company; kill -9 loses as much, and nothing is done by the log. */
const gather_ms = 100
const max_gathered_characters = 16_384
const error_level = 50

/**
 * The log, on standard output. A write to it costs more than all else that is done for a request's line, so lines gather and go
 * out together, before the process ends too; whatever went wrong goes out at once.
 */
export function createLog(level: pino.LevelWithSilent): pino.Logger {
  const out = pino.destination({ sync: true })
  let gathered = ''
  let timer: NodeJS.Timeout | undefined

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (gathered === '') return
    const text = gathered
    gathered = ''
    out.write(text)
  }
  process.on('exit', flush)

  const destination = {
    // Pino tells the level of each line to a destination that asks for it.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string) {
      gathered += line
      if (destination.lastLevel >= error_level || gathered.length >= max_gathered_characters) flush()
      else timer ??= setTimeout(flush, gather_ms).unref()
      destination.lastLevel = 0
    },
  }
  return pino({ level }, destination)
}
