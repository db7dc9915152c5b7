/** Runs async functions one after the other, in the order of the calls. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => undefined)
    return result
  }
}

/**
 * Starts work for the items in their order, at most `atOnce` at a time, and yields the results in that order, as many as are
 * ready. Work continues while the caller handles results. After the caller has stopped, no more work starts, the signal aborts, and
 * results of work in progress are discarded.
 */
export async function* mapInOrder<T, R>(
  items: T[],
  atOnce: () => number,
  start: (item: T, signal: AbortSignal) => Promise<R>,
): AsyncGenerator<PromiseSettledResult<R>[]> {
  const results = new Map<number, PromiseSettledResult<R>>()
  let next = 0
  let inProgress = 0
  let given = 0
  let wake = () => {}
  const controller = new AbortController()

  const fill = () => {
    while (inProgress < atOnce() && next < items.length) {
      const index = next
      next += 1
      inProgress += 1
      void Promise.allSettled([start(items[index] as T, controller.signal)]).then(([result]) => {
        inProgress -= 1
        results.set(index, result)
        fill()
        wake()
      })
    }
  }

  fill()
  try {
    while (given < items.length) {
      while (!results.has(given)) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      const ready: PromiseSettledResult<R>[] = []
      for (let result = results.get(given); result; result = results.get(given)) {
        ready.push(result)
        results.delete(given)
        given += 1
      }
      yield ready
    }
  } finally {
    next = items.length
    controller.abort()
  }
}

/** Splits items into batches in their order. A batch ends with the item that reaches `maxBytes`. */
export function batchesOf<T>(items: T[], bytesOf: (item: T) => number, maxBytes: number): T[][] {
  const batches: T[][] = []
  let bytes = maxBytes
  for (const item of items) {
    if (bytes >= maxBytes) {
      batches.push([])
      bytes = 0
    }
    batches.at(-1)?.push(item)
    bytes += bytesOf(item)
  }
  return batches
}
