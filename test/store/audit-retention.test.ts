import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { checkAudit } from '../../server/store/sqlite/audit.ts'
import { openSqliteStore } from '../../server/store/sqlite.ts'
import { nodeEnvironment } from '../support/node-environment.ts'
import { temporaryFolder } from '../support/service.ts'

function openTrail() {
  const folder = temporaryFolder()
  const file = join(folder, 'relayer.sqlite')
  const store = openSqliteStore(file, {
    now: Date.now,
    makeId: () => crypto.randomUUID(),
    checkEvent: () => undefined,
  })
  const db = new Database(file)
  onTestFinished(async () => {
    db.close()
    await store.close()
  })
  const record = (...times: number[]) =>
    store.appendAudit(
      times.map((at) => ({
        ...{ at, caller: 'environment', operation: 'signMessage', relayer_id: null, subject: `${at}` },
        ...{ http_status: 200, request_id: null },
      })),
    )
  const list = async (offset = 0, filter = {}) => store.listAudit({ offset, limit: 100 }, filter)
  return { folder, store, db, record, list }
}

const records = [expect.objectContaining({ operation: 'removeAuditEntries', caller: 'service' })]

test('removes old entries of the audit trail: a checkpoint keeps the rest verifiable, and is recorded', async () => {
  const { store, db, record, list } = openTrail()
  for (const at of [1, 2, 3]) await record(at, at)
  await record(50, 60)
  const old = checkAudit(db).head
  await record(70)
  expect(await store.pruneAudit(0)).toEqual({ removed: 0, more: false })
  expect(await store.pruneAudit(10)).toEqual({ removed: 6, more: false })
  const head = await store.auditHead()
  expect(head.up_to).toBe(10)
  const verdict = checkAudit(db, [old, head])
  expect(verdict).toMatchObject({ head: { up_to: 10 }, checkpoint: { up_to: 6 }, skipped: 0, fault: undefined })
  const { items, total_items } = await list()
  expect([items.map(({ sequence }) => sequence), total_items]).toEqual([[10, 9, 8, 7], 4])
  expect(items.slice(0, 1)).toEqual(records)
  expect((await list(3)).items.map(({ at }) => at)).toEqual([50])
  expect(await list(0, { operation: 'sign' })).toMatchObject({ total_items: 3 })

  // The newest batch stays, and what recorded a checkpoint may go: it is recorded anew.
  await store.pruneAudit(Number.MAX_SAFE_INTEGER)
  await store.pruneAudit(Number.MAX_SAFE_INTEGER)
  expect(checkAudit(db, [await store.auditHead()])).toMatchObject({ fault: undefined })
  expect((await list()).items).toEqual([...records, ...records])
  await record(80)
  expect(checkAudit(db)).toMatchObject({ fault: undefined })
})

test('refuses a removal that nothing recorded, and a changed checkpoint', async () => {
  const { store, db, record } = openTrail()
  for (const at of [1, 2, 3, 50, 60]) await record(at)
  const undo = new Error('undone')
  const faultAfter = (change: string): string | undefined => {
    let fault: string | undefined
    try {
      db.transaction(() => {
        db.exec(change)
        fault = checkAudit(db).fault
        throw undo
      })()
    } catch (error) {
      if (error !== undo) throw error
    }
    return fault
  }
  const forged = (upTo: number) =>
    `INSERT OR REPLACE INTO audit_checkpoints SELECT 0, up_to, hash FROM audit WHERE up_to = ${upTo};
     DELETE FROM audit WHERE up_to <= ${upTo}`
  const unrecorded = /not recorded in the trail/
  expect(faultAfter('DELETE FROM audit WHERE up_to <= 2')).toMatch(/missing between 0 and 3/)
  expect(faultAfter(forged(2))).toMatch(unrecorded)
  await store.pruneAudit(10)
  expect(checkAudit(db).fault).toBeUndefined()
  expect(faultAfter(forged(4))).toMatch(unrecorded)
  expect(faultAfter('DELETE FROM audit_checkpoints')).toMatch(/missing between 0 and 4/)
  expect(faultAfter('UPDATE audit_checkpoints SET hash = zeroblob(32)')).toMatch(/not what was written/)
})

test('removes many entries in small steps, and says so by the command', async () => {
  const { folder, store, db, record } = openTrail()
  for (let at = 1; at <= 30; at += 1) await record(...Array(1_000).fill(at))
  const { head } = checkAudit(db)
  await record(100)
  const steps: number[] = []
  for (let more = true; more; ) {
    const pruned = await store.pruneAudit(50)
    steps.push(pruned.removed)
    more = pruned.more
  }
  expect(Math.max(...steps)).toBeLessThanOrEqual(10_000)
  expect(steps.reduce((sum, removed) => sum + removed, 0)).toBe(30_000)
  const now = await store.auditHead()
  const log = join(folder, 'service.log')
  const line = ({ up_to, hash }: { up_to: number; hash: Uint8Array }) =>
    `${JSON.stringify({ chain: 1, up_to, hash: Buffer.from(hash).toString('hex'), msg: 'audit head' })}\n`
  writeFileSync(log, line({ up_to: 5, hash: Buffer.alloc(32) }) + line(head) + line(now))
  const { stdout } = await promisify(execFile)(process.execPath, ['server/cli/audit.ts', 'verify', '--log', log], {
    env: { ...nodeEnvironment, DATA_DIR: folder },
  })
  expect(stdout).toMatch(new RegExp(`^${now.up_to - 30_000} entries are unchanged\\. Head: `))
  expect(stdout).toMatch(/\nEntries 1 to 30000 were removed by age\. Checkpoint: [0-9a-f]{64}\n/)
  expect(stdout).toMatch(/All 2 heads in the log are in the trail; 1 are older than the checkpoint/)
})
