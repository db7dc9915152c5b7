/**
 * The outcome of `call`; a rejection with `late()` once `ms` have passed, or when `ended` aborts. The signal tells `call` so. A package of
 * another vendor may ignore it, so the promise itself ends too.
 */
export async function withTimeout<T>(
  ms: number,
  late: () => Error,
  call: (signal: AbortSignal) => Promise<T>,
  ended?: AbortSignal,
): Promise<T> {
  const over = new AbortController()
  const { promise, reject } = Promise.withResolvers<never>()
  const end = () => {
    over.abort()
    reject(late())
  }
  const timer = setTimeout(end, ms)
  ended?.addEventListener('abort', end, { once: true })
  if (ended?.aborted) end()
  try {
    return await Promise.race([call(over.signal), promise])
  } finally {
    clearTimeout(timer)
    ended?.removeEventListener('abort', end)
  }
}

const waiting: (() => void)[] = []

/**
 * Long work runs in steps of some milliseconds. Resolves when the next step may run: each turn of the event loop runs one step of all
 * long work, in the order of arrival. With `setImmediate` alone, sixteen requests whose steps take 10 ms make turns of 160 ms.
 */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(runOne)
  })
}

/** The step itself runs when the promise is resolved: after this function, and before the event loop continues. */
function runOne(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(runOne)
}
