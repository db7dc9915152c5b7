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
