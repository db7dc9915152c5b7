import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Needs a browser, so it is no part of `npm test`. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '..', '..'),
    include: ['test/console/*.browser.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    maxWorkers: 1,
    expect: { poll: { timeout: 60_000 } },
  },
})
