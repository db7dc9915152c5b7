import type { Listing, PageRequest } from '../../domain/rows.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'

/** Numbers in a block of level 0, and blocks of level 0 in one of level 1. The triggers of the schemas use it too. */
const blockSize = 1_000
/** The longest time that a search blocks the event loop. */
const turnMs = 5

export interface Block {
  block: number
  /** How many of its numbers match the filter; undefined when the rows must be read to know. */
  count: number | undefined
}

/** A list whose numbers are counted in blocks. Blocks and numbers come in the order of the list. */
export interface BlockList {
  /** From the lowest block to the highest, both included. */
  blocks(level: 0 | 1, from: number, to: number): Block[] | Promise<Block[]>
  /** The numbers in a range that match the filter. */
  numbers(from: number, to: number): number[] | Promise<number[]>
}

/**
 * Finds a page of a filtered list, and the length of the list, from the counts of its blocks. Rows are read only in the blocks of the
 * page and in blocks whose counts are not sufficient, in steps between which other work runs.
 */
export async function findPage(list: BlockList, { offset, limit }: PageRequest): Promise<Listing<number>> {
  const items: number[] = []
  let totalItems = 0
  let began = performance.now()

  async function look(level: 0 | 1, from: number, to: number): Promise<void> {
    for (const { block, count } of await list.blocks(level, from, to)) {
      const isBefore = count !== undefined && totalItems + count <= offset
      if (count !== undefined && (isBefore || items.length >= limit)) {
        totalItems += count
        continue
      }
      const first = block * blockSize
      const last = first + blockSize - 1
      if (level === 1) await look(0, first, last)
      else take(await list.numbers(first, last))
      if (performance.now() - began < turnMs) continue
      await yieldToEventLoop()
      began = performance.now()
    }
  }

  function take(numbers: number[]): void {
    const skipped = Math.max(0, offset - totalItems)
    items.push(...numbers.slice(skipped, skipped + limit - items.length))
    totalItems += numbers.length
  }

  await look(1, 0, Number.MAX_SAFE_INTEGER)
  return { items, total_items: totalItems }
}
