import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Needs generators of other languages, and Go modules from its proxy, so it is no part of `npm test`. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '..', '..'),
    include: ['test/generators/*.generator.ts'],
    testTimeout: 600_000,
  },
})
