import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Transaction } from 'ethers'
import { expect, test } from 'vitest'
import { beginning, seal } from '../server/store/audit-lots.ts'
import { checkAudit } from '../server/store/sqlite/audit-check.ts'
import { startTestService } from './support/service.ts'

// What SECURITY.md says does not hold, as experiments: when one of them fails, the document has to be corrected.

test('detects an audit trail with recomputed hashes by the log, and not without it', async () => {
  const service = await startTestService()
  for (const message of ['a', 'b', 'c']) {
    await service.client.post('/api/v1/relayers/{relayer_id}/sign', { path: { relayer_id: 'demo' }, body: { message } })
    await service.client.post('/api/v1/notifications', { body: { url: 'https://hooks.example.com' } })
  }
  await service.close()
  const db = new Database(join(service.data_dir, 'relayer.sqlite'))
  const { head } = checkAudit(db)
  db.exec(`UPDATE audit SET entries = replace(entries, 'environment', 'somebody')`)
  expect(checkAudit(db).fault).toMatch(/not what was written/)

  let before = beginning.hash
  const update = db.prepare('UPDATE audit SET hash = ? WHERE up_to = ?')
  const lots = db
    .prepare<[], { up_to: number; entries: string }>('SELECT up_to, entries FROM audit ORDER BY up_to')
    .all()
  for (const { up_to, entries } of lots) {
    before = seal(before, entries)
    update.run(before, up_to)
  }
  expect(checkAudit(db).fault).toBeUndefined()
  expect(checkAudit(db, [head]).fault).toMatch(/is not in the trail/)
  db.close()
})

const unsigned_transaction = Transaction.from({
  type: 2,
  chainId: 31_337,
  nonce: 0,
  gasLimit: 21_000,
  maxFeePerGas: 1n,
  to: `0x${'12'.repeat(20)}`,
  value: 1_000n,
}).unsignedSerialized

test('does not detect that the table of daily limits was emptied, because it carries no MAC', async () => {
  const service = await startTestService()
  const path = { relayer_id: 'demo' }
  const { data } = await service.client.patch('/api/v1/relayers/{relayer_id}', {
    path,
    body: { policies: { max_value_per_day: '1000' } },
  })
  expect(data.policies.max_value_per_day).toBe('1000')
  const spend = () =>
    service.client.post('/api/v1/relayers/{relayer_id}/sign-transaction', {
      path,
      body: { unsigned_transaction },
    })
  await spend()
  await expect(spend()).rejects.toMatchObject({ status: 403 })
  const db = new Database(join(service.data_dir, 'relayer.sqlite'))
  db.exec('DELETE FROM spending')
  db.close()
  await spend()
})
