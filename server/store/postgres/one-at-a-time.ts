/**
 * Shares one call of `read` among all who ask in one turn of the event loop, and while the previous call is under way. It begins after
 * they have all asked, so each of them sees everything that had changed before it asked.
 */
export function oneAtATime<T>(read: () => Promise<T>): () => Promise<T> {
  let previous: Promise<unknown> = Promise.resolve()
  let next: Promise<T> | undefined

  async function readNext(): Promise<T> {
    await previous
    await new Promise((resolve) => setImmediate(resolve))
    next = undefined
    const its = read()
    previous = Promise.allSettled([its])
    return its
  }

  return () => {
    next ??= readNext()
    return next
  }
}
