import type { OneNode } from './dependencies.ts'
import type { Seen } from './state.ts'
import { askEach, given } from './survey.ts'

const max_remembered = 10_000

export interface Finality {
  /**
   * The hashes of those blocks that most of the answering endpoints have at their height. A network with one endpoint is not asked.
   * Each block costs every endpoint one call, once.
   */
  agreed(each: OneNode[], seen: Pick<Seen, 'block_number' | 'block_hash'>[]): Promise<ReadonlySet<string>>
}

/** A final state needs a block that several endpoints agree about: a receipt comes from one node only. */
export function createFinality(): Finality {
  const known = new Set<string>()

  return {
    async agreed(each, seen) {
      const blocks = new Map(seen.map(({ block_hash, block_number }) => [block_hash, block_number]))
      if (each.length < 2) return new Set(blocks.keys())
      const unknown = [...blocks].filter(([hash]) => !known.has(hash))
      if (unknown.length > 0) {
        const answers = given(
          await askEach(each, (node) => Promise.all(unknown.map(([, height]) => node.blockHash(height)))),
        )
        for (const [index, [hash]] of unknown.entries()) {
          const there = given(answers.map((hashes) => hashes[index]))
          const same = there.filter((one) => one === hash).length
          if (known.size >= max_remembered) known.clear()
          if (same * 2 > there.length) known.add(hash)
        }
      }
      return new Set([...blocks.keys()].filter((hash) => known.has(hash)))
    },
  }
}
