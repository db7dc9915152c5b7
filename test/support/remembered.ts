import fc, { type Arbitrary } from 'fast-check'
import { type ContractOperation, idsIn, operations } from './contract.ts'

const maxRemembered = 100
/** Half of the ids of nested resources are drawn from so many newest ones, because a transaction ends soon. */
const newest = 5

/** The ids that the service has answered with, by the path parameter that they stand for. */
export interface Remembered {
  /** The parameters whose ids are remembered: `relayer_id` and the like. */
  parameters: string[]
  /** An id that exists, or did so a moment ago; `demo` while none is known. */
  idOf(parameter: string): Arbitrary<string>
  /** Ids for all parameters of the operation's path, of resources that belong together; undefined: no id is known. */
  idsOf(operation: ContractOperation): Arbitrary<(string | undefined)[]>
  /** Adds the ids of a successful response, or removes the id that it deleted. */
  learn(operation: ContractOperation, target: string, data: unknown): void
  /** Removes the id after a 404: concurrent responses may have added a deleted resource again. */
  forget(operation: ContractOperation, target: string): void
}

export function rememberIds(): Remembered {
  const nouns = new Map<string, Noun>()
  const nounByCollection = new Map<string, Noun>()
  for (const { path } of operations) {
    const [, collection, parameter] = /^(.*)\/\{(\w+)\}$/.exec(path) ?? []
    if (collection === undefined || parameter === undefined) continue
    if (!operations.some((other) => bare(other.path) === collection)) continue
    const noun = nouns.get(parameter) ?? { names: namesIn(path), chains: [] }
    nouns.set(parameter, noun)
    nounByCollection.set(collection, noun)
  }

  const chainOf = (parameter: string): Arbitrary<string[]> =>
    fc.tuple(fc.nat(), fc.boolean()).map(([index, isNew]) => {
      const { names = [], chains = [] } = nouns.get(parameter) ?? {}
      const some = isNew && names.length > 1 ? chains.slice(-newest) : chains
      return some[index % some.length] ?? []
    })

  return {
    parameters: [...nouns.keys()],
    idOf: (parameter) => chainOf(parameter).map((chain) => chain.at(-1) ?? 'demo'),
    idsOf({ path }) {
      const names = namesIn(path)
      const last = names.findLast((name) => nouns.has(name))
      if (last === undefined) return fc.constant([])
      return chainOf(last).map((chain) =>
        names.map((name, index) => chain[index] ?? (nouns.has(name) ? 'demo' : undefined)),
      )
    },
    learn(operation, target, data) {
      const { method, path } = operation
      const ids = idsIn(operation, target)
      const items = [data].flat().filter(hasId)
      const [, deleted] = (items.some(isDeletion) && /\/\{(\w+)\}$/.exec(path)) || []
      if (deleted !== undefined) {
        // Removes the resources that belong to the deleted one too.
        const at = ids.length - 1
        for (const noun of nouns.values()) {
          if (noun.names[at] === deleted) noun.chains = noun.chains.filter((chain) => chain[at] !== ids[at])
        }
        return
      }
      const { chains } = nounByCollection.get(bare(path)) ?? {}
      // Created resources are added always, those of lists only while there is room.
      if (!chains || (method === 'GET' && chains.length >= maxRemembered)) return
      for (const { id } of items) if (!chains.some((chain) => chain.at(-1) === id)) chains.push([...ids, id])
      if (chains.length > maxRemembered) chains.splice(1, chains.length - maxRemembered)
    },
    forget(operation, target) {
      const noun = nouns.get(namesIn(operation.path).at(-1) ?? '')
      const ids = idsIn(operation, target).join('/')
      if (noun) noun.chains = noun.chains.filter((chain) => chain.join('/') !== ids)
    },
  }
}

interface Noun {
  /** The parameters of its path, in order. */
  names: string[]
  /** Known ids, each after the ids of its parents: [relayer_id, transaction_id] for a transaction. */
  chains: string[][]
}

const namesIn = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

const bare = (path: string) => path.replace(/\/$/, '')

const isDeletion = (item: object): boolean => 'deleted' in item && item.deleted === true
const hasId = (item: unknown): item is { id: string } => typeof (item as { id?: unknown } | null)?.id === 'string'
