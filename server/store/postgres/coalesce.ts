/** Coalesces calls: items that arrive while a call is in progress are passed together to the next call. */
export function coalesce<T>(work: (items: T[]) => Promise<void>): (items: T[]) => Promise<void> {
  let previous: Promise<void> = Promise.resolve()
  let next: { items: T[]; done: Promise<void> } | undefined

  return (items) => {
    if (next) {
      next.items.push(...items)
      return next.done
    }
    const all = [...items]
    const done = previous.then(() => {
      next = undefined
      return work(all)
    })
    previous = done.catch(() => undefined)
    next = { items: all, done }
    return done
  }
}
