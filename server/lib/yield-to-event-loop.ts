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
