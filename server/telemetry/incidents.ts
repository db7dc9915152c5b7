import { AsyncLocalStorage } from 'node:async_hooks'
import { hostname } from 'node:os'
import type { Incident } from '../domain/rows.ts'
import type { Store } from '../store/store.ts'

export interface Incidents {
  note(severity: Incident['severity'], subject: string, text: string): void
  /** Those of all servers, also of before their start, the newest first. */
  list(): Promise<Incident[]>
}

export const maxIncidents = 500
const maxText = 1_000

/** Incidents are stored in the background: those that are not yet, or cannot be, are in memory. */
export function createIncidents(now: () => number, store: () => Pick<Store, 'addIncidents' | 'incidents'>): Incidents {
  const server = `${hostname()} ${process.pid}`
  // The lease of the work that notices an incident does not apply to it.
  const outside = AsyncLocalStorage.snapshot()
  let unsaved: Incident[] = []
  let isSaving = false

  async function save(): Promise<void> {
    if (isSaving) return
    isSaving = true
    try {
      while (unsaved.length > 0) {
        const batch = [...unsaved]
        await store().addIncidents(batch)
        unsaved = unsaved.filter((its) => !batch.includes(its))
      }
    } catch {
      // The database is down, or the service stops. The next incident tries again.
    } finally {
      isSaving = false
    }
  }

  return {
    note(severity, subject, text) {
      const its = { at: now(), server, severity, subject: subject.slice(0, maxText), text: text.slice(0, maxText) }
      unsaved = [...unsaved.slice(1 - maxIncidents), its]
      void outside(save)
    },
    async list() {
      // Read before the list, so that none is missing in both; one that is saved meanwhile is in both.
      const waiting = unsaved.toReversed()
      const saved = await store().incidents(maxIncidents)
      const known = new Set(saved.map(keyOf))
      return [...waiting.filter((its) => !known.has(keyOf(its))), ...saved].slice(0, maxIncidents)
    },
  }
}

const keyOf = (its: Incident) => JSON.stringify([its.at, its.server, its.subject, its.text])
