import { AsyncLocalStorage } from 'node:async_hooks'
import { hostname } from 'node:os'
import type { Incident } from '../domain/rows.ts'
import type { Store } from '../store/store.ts'

const maxIncidents = 500
const maxText = 1_000

/** Incidents are stored in the background: those that are not yet, or cannot be, are in memory. */
export class Incidents {
  readonly #now: () => number
  readonly #store: () => Pick<Store, 'addIncidents' | 'incidents'>
  readonly #server = `${hostname()} ${process.pid}`
  // The lease of the work that notices an incident does not apply to it.
  readonly #outside = AsyncLocalStorage.snapshot()
  #unsaved: Incident[] = []
  #isSaving = false

  constructor(now: () => number, store: () => Pick<Store, 'addIncidents' | 'incidents'>) {
    this.#now = now
    this.#store = store
  }

  note(severity: Incident['severity'], subject: string, text: string): void {
    const its = {
      at: this.#now(),
      server: this.#server,
      severity,
      subject: subject.slice(0, maxText),
      text: text.slice(0, maxText),
    }
    this.#unsaved = [...this.#unsaved.slice(1 - maxIncidents), its]
    void this.#outside(() => this.#save())
  }

  /** Those of all servers, also of before their start, the newest first. */
  async list(): Promise<Incident[]> {
    // Read before the list, so that none is missing in both; one that is saved meanwhile is in both.
    const waiting = this.#unsaved.toReversed()
    const saved = await this.#store().incidents(maxIncidents)
    const known = new Set(saved.map(keyOf))
    return [...waiting.filter((its) => !known.has(keyOf(its))), ...saved].slice(0, maxIncidents)
  }

  async #save(): Promise<void> {
    if (this.#isSaving) return
    this.#isSaving = true
    try {
      while (this.#unsaved.length > 0) {
        const batch = [...this.#unsaved]
        await this.#store().addIncidents(batch)
        this.#unsaved = this.#unsaved.filter((its) => !batch.includes(its))
      }
    } catch {
      // The database is down, or the service stops. The next incident tries again.
    } finally {
      this.#isSaving = false
    }
  }
}

const keyOf = (its: Incident) => JSON.stringify([its.at, its.server, its.subject, its.text])
