import { getHeapStatistics } from 'node:v8'

/** Between two looks. A look takes some microseconds. */
const look_ms = 100
/** How much memory outside the heap grows until garbage is collected. */
const max_growth_bytes = 8 * 1024 * 1024

/**
 * Collects the buffers of received and sent bodies soon. V8 lets 32 MB of them become garbage before it collects, and malloc keeps the
 * memory between those that remain: in six minutes of bodies of up to 1 MiB the resident set grew from 210 to 249 MB, and with this from
 * 208 to 219 MB. A minor collection takes 2 to 3 ms. Does nothing without `--expose-gc`.
 */
export function collectBufferGarbage(): void {
  const { gc } = globalThis
  if (gc === undefined) return
  let least_bytes = getHeapStatistics().external_memory
  const look = () => {
    const now_bytes = getHeapStatistics().external_memory
    if (now_bytes > least_bytes + max_growth_bytes) {
      gc({ type: 'minor', execution: 'sync' })
      least_bytes = getHeapStatistics().external_memory
    } else least_bytes = Math.min(least_bytes, now_bytes)
  }
  setInterval(look, look_ms).unref()
}
