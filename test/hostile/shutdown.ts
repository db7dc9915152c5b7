import { inFolder } from '../bench/processes.ts'
import type { Finding } from './finding.ts'
import { stopUnderLoad } from './stop.ts'

const rate = 200
const halfOpen = 50
const beforeMs = 3_000
const maxMs = 10_000

/** SIGTERM at 200 requests a second with 50 half-open sockets. */
export async function shutdown(): Promise<Finding[]> {
  const result = await inFolder((folder) => stopUnderLoad(folder, { rate, half_open: halfOpen, before_ms: beforeMs }))
  const { code, took_ms, answered, refused, dropped, accepted, lost } = result
  return [
    { what: 'exit code', found: `${code}`, wanted: '0', holds: code === 0 },
    {
      what: 'from SIGTERM to the end',
      found: `${(took_ms / 1_000).toFixed(1)} s`,
      wanted: `within ${maxMs / 1_000} s`,
      holds: took_ms <= maxMs,
    },
    {
      what: `${answered} answered, ${refused} never read, dropped ${dropped.slice(0, 3)}`,
      found: `${dropped.length}`,
      wanted: '0',
      holds: dropped.length === 0 && answered > 0,
    },
    {
      what: `of ${accepted} accepted transactions lost`,
      found: `${lost}`,
      wanted: '0',
      holds: lost === 0 && accepted > 0,
    },
  ]
}
