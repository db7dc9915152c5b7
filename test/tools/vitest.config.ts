import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Installs each tool from its registry into a folder of its own, so it is no part of `npm test`. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '..', '..'),
    include: ['test/tools/*.tool.ts'],
    pool: 'forks',
    testTimeout: 900_000,
    hookTimeout: 900_000,
  },
})
