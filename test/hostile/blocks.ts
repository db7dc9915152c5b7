import { monitorEventLoopDelay } from 'node:perf_hooks'

// Loaded into the service with --import: tells its parent how long its event loop stood still at most since it was asked last, in
// milliseconds.

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
process.on('message', () => {
  process.send?.({ longest_ms: delay.max / 1_000_000 })
  delay.reset()
})
// The service ends by itself, whether anybody asks or not.
process.channel?.unref()
