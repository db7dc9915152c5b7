/** Runs works one after the other, in the order in which they came. */
export type InOrder = <T>(work: () => Promise<T>) => Promise<T>

export function createInOrder(): InOrder {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work)
    last = mine.catch(() => {})
    return mine
  }
}

/** Does the works in the order of their items, at most `at_once` at the same time. */
export async function mapLimited<T, R>(
  items: T[],
  at_once: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(items.length)
  let next = 0
  const run = async () => {
    while (next < items.length) {
      const index = next
      next += 1
      results[index] = await work(items[index] as T, index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(at_once, items.length) }, run))
  return results
}
