import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '..'),
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres-setup.ts'],
    pool: 'forks',
    // Two cores are the least that is expected; much of a test is waiting for a chain or for a process to start.
    maxWorkers: 3,
    // A limit for what hangs, far above what a busy machine needs.
    testTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    hookTimeout: 300_000,
    // The AWS SDK looks for no credentials outside: no test calls anybody.
    env: { AWS_EC2_METADATA_DISABLED: 'true' },
  },
})
