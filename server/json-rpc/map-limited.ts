/** Like `Promise.all(items.map(work))`, with at most `at_once` calls at the same time. */
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
