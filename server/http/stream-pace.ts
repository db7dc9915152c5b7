import type { Caller } from '../core/operation.ts'

/** The characters per second that all event streams of one API key may read. */
const characters_a_second = 8_000_000
const max_callers = 10_000

/**
 * Limits the pace at which past events are read: an API key may have many streams, and validating and encoding their events takes
 * CPU time that all callers share. Returns the milliseconds to wait before the caller's next event.
 */
export function createStreamPace(now: () => number): (caller: Pick<Caller, 'id'>, characters: number) => number {
  const freeAt = new Map<string, number>()

  return ({ id }, characters) => {
    const time = now()
    if (freeAt.size >= max_callers) for (const [other, at] of freeAt) if (at <= time) freeAt.delete(other)
    const free = Math.max(freeAt.get(id) ?? 0, time) + (1_000 * characters) / characters_a_second
    freeAt.set(id, free)
    return free - time
  }
}
