import type { Observer } from '../domain/observer.ts'
import type { KeyFault, KeyServiceState } from '../domain/rows.ts'

const maxFailing = 100
const maxText = 1_000

/** What this process saw of each type of key service since its start. */
export class KeyServiceStates implements Pick<Observer, 'keyServiceCalled' | 'keyServiceDown' | 'keyServiceUp'> {
  readonly #now: () => number
  readonly #states = new Map<string, KeyServiceState & { keys: Map<string, KeyFault> }>()

  constructor(now: () => number) {
    this.#now = now
  }

  keyServiceCalled({ type, outcome }: { type: string; outcome: string }): void {
    const state = this.#stateOf(type)
    state.calls_count += 1
    if (outcome !== 'signed') state.failed_calls_count += 1
    state.last_call_at = this.#now()
  }

  keyServiceDown({ type, address, reason }: { type: string; address: string; reason: string }): void {
    const state = this.#stateOf(type)
    const error = { address, at: this.#now(), reason: reason.slice(0, maxText) }
    state.last_error = error
    if (state.keys.size < maxFailing) state.keys.set(address, error)
  }

  keyServiceUp({ type, address }: { type: string; address: string }): void {
    this.#stateOf(type).keys.delete(address)
  }

  /** By type. */
  list(): KeyServiceState[] {
    return [...this.#states.values()]
      .map(({ keys, ...state }) => ({ ...state, failing: [...keys.values()] }))
      .sort((a, b) => (a.type < b.type ? -1 : 1))
  }

  #stateOf(type: string) {
    const known = this.#states.get(type)
    if (known) return known
    const keys = new Map<string, KeyFault>()
    const made = {
      type,
      calls_count: 0,
      failed_calls_count: 0,
      last_call_at: null,
      failing: [],
      last_error: null,
      keys,
    }
    this.#states.set(type, made)
    return made
  }
}
