import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'

/** Between two looks. A look takes some microseconds. */
const lookMs = 100
/** How much memory outside the heap grows until garbage is collected. */
const maxGrowthBytes = 8 * 1024 * 1024

/**
 * Collects the buffers of received and sent bodies soon. V8 lets 32 MB of them become garbage before it collects, and malloc keeps the
 * memory between those that remain: in six minutes of bodies of up to 1 MiB the resident set grew from 210 to 249 MB, and with this from
 * 208 to 219 MB. A minor collection takes 2 to 3 ms. Does nothing without `--expose-gc`.
 */
export function collectBufferGarbage(): void {
  const { gc } = globalThis
  if (gc === undefined) return
  let leastBytes = getHeapStatistics().external_memory
  const look = () => {
    const nowBytes = getHeapStatistics().external_memory
    if (nowBytes > leastBytes + maxGrowthBytes) {
      gc({ type: 'minor', execution: 'sync' })
      leastBytes = getHeapStatistics().external_memory
    } else leastBytes = Math.min(leastBytes, nowBytes)
  }
  setInterval(look, lookMs).unref()
}

/** Between two looks at whether a load has ended. */
const restMs = 60_000
/** It stops the event loop for about 100 ms, so it waits until nobody has asked anything for so long. */
const quietMs = 2_000
/** The share of that time in which the event loop works for little more than blocks and health checks. */
const maxUtilization = 0.05
const maxHeapGrowthBytes = 16 * 1024 * 1024

/**
 * Collects the garbage of a load a minute or two after its end: V8 does so only when more is allocated, and keeps 50 to 80 MB until
 * then. It drops compiled code: the next load costs a twentieth more CPU at first. Does nothing without `--expose-gc`.
 */
export async function collectAfterLoad(untilQuiet: (quietMs: number) => Promise<void>): Promise<never> {
  let leastBytes = getHeapStatistics().total_heap_size
  for (;;) {
    const before = performance.eventLoopUtilization()
    await pause(restMs, undefined, { ref: false })
    const { utilization } = performance.eventLoopUtilization(performance.eventLoopUtilization(), before)
    if (utilization > maxUtilization || getHeapStatistics().total_heap_size < leastBytes + maxHeapGrowthBytes) continue
    await untilQuiet(quietMs)
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    leastBytes = getHeapStatistics().total_heap_size
  }
}
