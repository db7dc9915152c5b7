import type { Incident } from '../core/incident.ts'

export interface Incidents {
  note(severity: Incident['severity'], subject: string, text: string): void
  /** The newest first. */
  list(): Incident[]
}

const max_kept = 500
const max_text = 1_000

/** The newest incidents of this process. */
export function createIncidents(now: () => number): Incidents {
  const kept: Incident[] = []
  return {
    note(severity, subject, text) {
      kept.push({ at: now(), severity, subject: subject.slice(0, max_text), text: text.slice(0, max_text) })
      if (kept.length > max_kept) kept.shift()
    },
    list: () => kept.toReversed(),
  }
}
