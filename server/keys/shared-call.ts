/** Callers at the same time share one call and its outcome, until the signal of the first caller aborts. */
export function shared<T>(call: (signal: AbortSignal) => Promise<T>): (signal: AbortSignal) => Promise<T> {
  let current: Promise<T> | undefined
  return (signal) => {
    if (current) return current
    const end = () => {
      if (current === started) current = undefined
    }
    const started = call(signal).finally(end)
    signal.addEventListener('abort', end, { once: true })
    current = started
    return started
  }
}
