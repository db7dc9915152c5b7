import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { defineConfig, type TestProjectConfiguration } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { alsoOnPostgres, onSqliteOnly } from './databases.ts'

/** Files under test/ that take long though they are short, the longest first. The others run in the order of their size. */
const long = [
  'sending/pricing',
  'sending/faults/withdrawals',
  'keys/unsigned-limits',
  'crash',
  'chain/rpc-faults',
  'sending/faults/after-commit',
  'sending/faults/ways-out',
  'store/postgres-service',
  'sponsorships/sponsorships',
  'background/server-processes',
  'cluster',
  'webhooks/webhook-crash',
  'keys/rotate-master-key',
  'sending/lying-nodes',
  'sending/burst',
  'client/web3-adapters',
  'client/samples',
  'client/client-package',
  'client/documented-commands',
  'api/http/generated-requests',
  'model',
  'stop',
  'api/handlers/batches',
  'servers',
  'store/servers',
  'funding',
  'sending/funding',
  'server',
  'cli/wrong-folder',
  'client/examples',
  'keys/planted-secrets',
  'cli/move-database',
  'sending/reorg',
  'sending/nonce-compaction',
  'sending/waiting-reasons',
  'sending/key-service',
  'keys/killed-rotation',
  'client/command-line',
  'keys/missing-packages',
  'telemetry/traces',
  'memory',
]
const gone = long.filter((name) => !existsSync(join(import.meta.dirname, `${name}.test.ts`)))
if (gone.length > 0) throw new Error(`Tests that vitest.config.ts names do not exist: ${gone.join(', ')}`)

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      // A process runs files of one project: those of the small one come first, and then every process is one of the other.
      if (project.name === 'postgres') return -1
      const place = long.indexOf(relative(import.meta.dirname, moduleId).replace('.test.ts', ''))
      return place < 0 ? long.length : place
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

const include = ['test/**/*.test.ts']
const env = {
  // The AWS SDK looks for no credentials outside: no test calls anybody.
  AWS_EC2_METADATA_DISABLED: 'true',
  // Servers and commands that tests start are compiled once.
  NODE_COMPILE_CACHE: join(import.meta.dirname, '..', 'node_modules', '.cache', 'tests'),
}
const projects: TestProjectConfiguration[] =
  process.env.TEST_DATABASE === 'postgres'
    ? [{ extends: true, test: { name: 'postgres', include, exclude: Object.keys(onSqliteOnly) } }]
    : [
        { extends: true, test: { name: 'tests', include } },
        {
          extends: true,
          test: { name: 'postgres', include: alsoOnPostgres, env: { ...env, TEST_DATABASE: 'postgres' } },
        },
      ]

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '..'),
    projects,
    globalSetup: ['test/support/postgres-setup.ts'],
    setupFiles: ['test/support/declared-responses.ts'],
    pool: 'forks',
    // A process runs many files, so that it imports the server and compiles the contract once.
    isolate: false,
    sequence: { sequencer: LongFilesFirst },
    // Two cores are the least that is expected; much of a test is waiting for a chain or for a process to start.
    maxWorkers: 4,
    // A timeout for hanging tests, far above the time that a busy machine needs.
    testTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    hookTimeout: 600_000,
    env,
  },
})
