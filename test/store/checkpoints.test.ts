import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { yieldToEventLoop } from '../../server/lib/timers.ts'
import { startCheckpoints } from '../../server/store/sqlite/checkpoints.ts'
import { connect } from '../../server/store/sqlite/connection.ts'
import { temporaryFolder } from '../support/service.ts'

const mebibyte = 1024 * 1024

test('keeps the log short under writes by a separate thread, which leaves the file when it is closed', async () => {
  const file = join(temporaryFolder(), 'a.sqlite')
  const connection = connect(file, { checkpointsApart: true })
  const { db, write } = connection
  const insert = db.prepare('INSERT INTO transaction_data (data) VALUES (zeroblob(?))')
  const total = 200
  for (let written = 0; written < total; written += 1) {
    await write(() => insert.run(mebibyte))
    await pause(5)
  }
  // By itself this connection would checkpoint at 64 MB only.
  await expect
    .poll(() => (db.pragma('wal_checkpoint(NOOP)') as { log: number; checkpointed: number }[])[0])
    .toSatisfy(({ log, checkpointed }) => log - checkpointed < 1_000)
  expect(statSync(`${file}-wal`).size).toBeLessThan(total * mebibyte)
  connection.close()
  const alone = connect(file, {}, true)
  onTestFinished(alone.close)
  expect(alone.db.prepare('SELECT count(*) FROM transaction_data').pluck().get()).toBe(total)
})

test('writes no faster than the thread copies the log', async () => {
  const file = join(temporaryFolder(), 'a.sqlite')
  const { db, write, close } = connect(file, { checkpointsApart: true })
  onTestFinished(close)
  const insert = db.prepare('INSERT INTO transaction_data (data) VALUES (zeroblob(?))')
  for (let written = 0; written < 100; written += 1) await write(() => insert.run(1))
  // The thread has the file: no commit does a checkpoint before the log has 256 MB.
  await expect.poll(() => db.pragma('wal_autocheckpoint', { simple: true })).toBe(64_000)
  for (let written = 0; written < 300; written += 1) {
    await write(() => insert.run(mebibyte))
    await yieldToEventLoop()
  }
  expect(statSync(`${file}-wal`).size).toBeLessThan(128 * mebibyte)
})

test('reports a thread that cannot be started, and does not fail the commit for which it would start', () => {
  const failures: unknown[] = []
  // A thread cannot receive a function.
  const checkpoints = startCheckpoints((() => undefined) as never, {
    progress: () => ({ busy: 0, log: 0, checkpointed: 0 }),
    started: () => undefined,
    failed: (error) => failures.push(error),
  })
  for (let commits = 0; commits < 200; commits += 1) checkpoints.committed()
  expect(failures).toEqual([expect.objectContaining({ name: 'DataCloneError' })])
  checkpoints.close()
})
