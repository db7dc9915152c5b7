import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Needs a browser, Python and Go, so it is no part of `npm test`. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '..', '..'),
    include: ['test/docs/*.browser.ts', 'test/docs/*.docs.ts'],
    testTimeout: 400_000,
    expect: { poll: { timeout: 30_000 } },
  },
})
