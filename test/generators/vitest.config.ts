import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Needs Go and Python 3.10 or newer, and installs generators from their registries, so it is no part of `npm test`. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '..', '..'),
    include: ['test/generators/*.generator.ts'],
    testTimeout: 600_000,
  },
})
