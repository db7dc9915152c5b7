import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { exit_io, hasStrace, prepareDisk, tryDisk } from '../disk/disk.ts'

// The short form of `npm run test:disk`.

test.runIf(hasStrace)(
  'a full disk is told and loses nothing; an error of fsync ends the process',
  { timeout: 90_000 },
  async () => {
    const { folder, calls } = await prepareDisk()
    const full = await tryDisk(folder, 'full', Math.floor(calls.full / 2))
    expect(full).toMatchObject({ wrong: [], started: true })
    expect(full.refused).toBeGreaterThan(0)
    expect(full.acknowledged).toBeGreaterThan(0)
    const sync = await tryDisk(folder, 'sync', Math.floor(calls.sync / 2))
    expect(sync).toMatchObject({ wrong: [], started: true, exit: exit_io })
    rmSync(folder, { recursive: true })
  },
)
