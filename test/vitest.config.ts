import { basename, join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take long though they are short. The others run in the order of their size. */
const long = ['crash', 'webhook-crash', 'generated-requests', 'examples', 'client-package', 'model', 'stop', 'memory']

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => (long.includes(basename(moduleId, '.test.ts')) ? 0 : 1)
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '..'),
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres-setup.ts'],
    pool: 'forks',
    // A process runs many files, so that it imports the server and compiles the contract once.
    isolate: false,
    sequence: { sequencer: LongFilesFirst },
    // Two cores are the least that is expected; much of a test is waiting for a chain or for a process to start.
    maxWorkers: 3,
    // A limit for what hangs, far above what a busy machine needs.
    testTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    hookTimeout: 600_000,
    // The AWS SDK looks for no credentials outside: no test calls anybody.
    env: { AWS_EC2_METADATA_DISABLED: 'true' },
  },
})
