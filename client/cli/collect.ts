/** The items of a list, of all pages, or the first `limit` of them. */
export async function collect<T>(items: AsyncIterable<T>, limit = Number.POSITIVE_INFINITY): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) {
    if (all.length >= limit) break
    all.push(item)
  }
  return all
}
