import fc, { type Arbitrary } from 'fast-check'
import { type ContractOperation, operations } from './contract.ts'

const max_remembered = 200

/** The ids that the service has answered with, by the noun of their path parameter: `relayer` for `{relayer_id}`. */
export interface Remembered {
  /** An id that exists, or did so a moment ago; `demo` while none is known. Undefined when the contract has no such noun. */
  idOf(parameter: string): Arbitrary<string> | undefined
  /** The parameters whose ids are remembered: `relayer_id` and the like. */
  parameters: string[]
  /** Learns from a success which ids there are and which are gone. */
  learn(operation: ContractOperation, target: string, data: unknown): void
}

export function rememberIds(): Remembered {
  const idsByCollection = new Map<string, string[]>()
  const idsByParameter = new Map<string, string[]>()
  for (const { path } of operations) {
    const [, collection, parameter] = /^(.*)\/\{(\w+)\}$/.exec(path) ?? []
    if (collection === undefined || parameter === undefined || idsByCollection.has(collection)) continue
    const ids: string[] = []
    idsByCollection.set(collection, ids)
    idsByParameter.set(parameter, ids)
  }

  return {
    parameters: [...idsByParameter.keys()],
    idOf(parameter) {
      const ids = idsByParameter.get(parameter)
      return ids && fc.nat().map((index) => ids[index % ids.length] ?? 'demo')
    },
    learn({ method, path }, target, data) {
      const gone = method === 'DELETE' ? idsByCollection.get(path.replace(/\/\{\w+\}$/, '')) : undefined
      if (gone) {
        const id = decodeURIComponent(target.replace(/\/?(?:[?#].*)?$/s, '').replace(/^.*\//s, ''))
        gone.splice(0, gone.length, ...gone.filter((other) => other !== id))
        return
      }
      const ids = idsByCollection.get(path.replace(/\/$/, ''))
      for (const item of ids ? [data].flat() : []) {
        const { id } = item as { id?: unknown }
        if (typeof id === 'string' && !ids?.includes(id)) ids?.push(id)
      }
      if (ids && ids.length > max_remembered) ids.splice(1, ids.length - max_remembered)
    },
  }
}
