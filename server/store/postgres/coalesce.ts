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

/** The most keys of one statement. */
const maxKeys = 1_000

/**
 * Reads by key, for many callers: the keys that are asked for while the previous statement is under way are read by one statement, which
 * is sent after they were asked for. So each caller sees everything that was committed before it asked. `readAll`: resolves to the found
 * values by name.
 */
export function readTogether<Key, Name, Value>(
  nameOf: (key: Key) => Name,
  readAll: (keys: Key[]) => Promise<ReadonlyMap<Name, Value>>,
): (key: Key) => Promise<Value | undefined> {
  const readCoalesced = coalesce(async (asked: { key: Key; found(value: Value | undefined): void }[]) => {
    const keys = [...new Map(asked.map(({ key }) => [nameOf(key), key])).values()]
    const values = new Map<Name, Value>()
    for (let at = 0; at < keys.length; at += maxKeys) {
      for (const [name, value] of await readAll(keys.slice(at, at + maxKeys))) values.set(name, value)
    }
    for (const { key, found } of asked) found(values.get(nameOf(key)))
  })
  return (key) =>
    new Promise((resolve, reject) => {
      readCoalesced([{ key, found: resolve }]).catch(reject)
    })
}
