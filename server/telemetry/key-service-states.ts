import type { Observer } from '../domain/observer.ts'
import type { KeyFault, KeyServiceState } from '../domain/rows.ts'

export interface KeyServiceStates {
  observer: Required<Pick<Observer, 'keyServiceCalled' | 'keyServiceDown' | 'keyServiceUp'>>
  /** By type. */
  list(): KeyServiceState[]
}

const maxFailing = 100
const maxText = 1_000

/** What this process saw of each type of key service since its start. */
export function createKeyServiceStates(now: () => number): KeyServiceStates {
  const states = new Map<string, KeyServiceState & { keys: Map<string, KeyFault> }>()
  const stateOf = (type: string) => {
    const known = states.get(type)
    if (known) return known
    const keys = new Map<string, KeyFault>()
    const made = { type, calls: 0, failed_calls: 0, last_call_at: null, failing: [], last_error: null, keys }
    states.set(type, made)
    return made
  }
  return {
    observer: {
      keyServiceCalled({ type, outcome }) {
        const state = stateOf(type)
        state.calls += 1
        if (outcome !== 'signed') state.failed_calls += 1
        state.last_call_at = now()
      },
      keyServiceDown({ type, address, reason }) {
        const state = stateOf(type)
        const error = { address, at: now(), reason: reason.slice(0, maxText) }
        state.last_error = error
        if (state.keys.size < maxFailing) state.keys.set(address, error)
      },
      keyServiceUp({ type, address }) {
        stateOf(type).keys.delete(address)
      },
    },
    list: () =>
      [...states.values()]
        .map(({ keys, ...state }) => ({ ...state, failing: [...keys.values()] }))
        .sort((a, b) => (a.type < b.type ? -1 : 1)),
  }
}
