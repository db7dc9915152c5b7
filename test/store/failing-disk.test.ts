import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/service.ts'
import type { DiskFailure } from './commits-until-disk-fails.ts'

test('reports an unknown outcome when the disk fails at COMMIT, and makes no change again', () => {
  const script = join(import.meta.dirname, 'commits-until-disk-fails.ts')
  const file = join(temporaryFolder(), 'a.sqlite')
  // A write beyond 2 MiB of a file fails (setrlimit(2), RLIMIT_FSIZE), and SQLite writes the log at COMMIT.
  const limited = ['-c', 'ulimit -f 4096 && exec "$@"', 'sh', process.execPath, script, file]
  const { stdout, stderr } = spawnSync('sh', limited, { encoding: 'utf8' })
  expect(stderr).toBe('')
  const { broken, tries, errors }: DiskFailure = JSON.parse(stdout)
  expect(broken).toEqual(['SQLITE_IOERR_WRITE'])
  expect(tries).toBe(2)
  const unknown = {
    name: 'UnknownOutcome',
    // Without Retry-After.
    headers: {},
    details: [
      {
        code: 'outcome_unknown',
        path: 'store',
        message: expect.stringMatching(/^The disk failed during the commit, so whether .* is unknown/),
      },
    ],
  }
  expect(errors).toEqual([unknown, unknown])
})
