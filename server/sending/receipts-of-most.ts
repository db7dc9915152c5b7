import type { AttemptRow } from '../store/sending-rows.ts'
import type { OneNode } from './dependencies.ts'
import type { Seen } from './state.ts'
import { askEach, given, reachedByMost } from './survey.ts'

/** The number of rows in one survey, because each has a time limit. */
const max_rows_at_once = 100

interface Surveyed {
  /** The highest block that most of the answering endpoints have; undefined when none answers. */
  head: number | undefined
  /** By row: the receipt that most of the answering endpoints have of one of its attempts; null: there is none. */
  seen: (Seen | null)[]
}

/**
 * The receipts by most of the answering endpoints: they agree about the attempt, its block and whether it succeeded. A network with
 * several endpoints pays one call per attempt and endpoint.
 */
export async function receiptsOfMost(each: OneNode[], rows: AttemptRow[][]): Promise<Surveyed> {
  const surveyed: Surveyed = { head: undefined, seen: [] }
  for (let at = 0; at < rows.length; at += max_rows_at_once) {
    const batch = rows.slice(at, at + max_rows_at_once)
    const attempts = batch.flat()
    const answers = given(
      await askEach(each, async (node) => {
        const [head, receipts] = await Promise.all([node.head(), node.receipts(attempts.map(({ hash }) => hash))])
        return {
          head: head.number,
          receipts: new Map(receipts.flatMap((one) => (one ? [[one.hash.toLowerCase(), one]] : []))),
        }
      }),
    )
    surveyed.head = reachedByMost(answers.map(({ head }) => head))
    for (const own of batch) {
      const seen = answers.flatMap(({ receipts }): Seen[] => {
        const attempt = own.findLast(({ hash }) => receipts.has(hash))
        const receipt = attempt && receipts.get(attempt.hash)
        return attempt && receipt ? [{ ...receipt, hash: attempt.hash, purpose: attempt.purpose }] : []
      })
      const most = largestGroup(seen)
      surveyed.seen.push(most.length * 2 > answers.length ? (most[0] as Seen) : null)
    }
  }
  return surveyed
}

/** The receipts that agree with each other; of several such groups the largest. */
export function largestGroup<T extends Pick<Seen, 'hash' | 'block_hash' | 'succeeded'>>(receipts: T[]): T[] {
  const groups = Map.groupBy(receipts, ({ hash, block_hash, succeeded }) => `${hash} ${block_hash} ${succeeded}`)
  return [...groups.values()].sort((a, b) => b.length - a.length)[0] ?? []
}
