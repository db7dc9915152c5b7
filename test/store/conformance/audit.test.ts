import { expect, test } from 'vitest'
import type { AuditEntry } from '../../../server/core/rows.ts'
import { batchesAfter, beginning } from '../../../server/store/audit-batches.ts'
import { onEveryStore } from './stores.ts'

const entries = (count: number): AuditEntry[] =>
  Array.from({ length: count }, (_, index) => ({
    at: index,
    caller: 'environment',
    operation: 'signMessage',
    relayer_id: 'demo',
    subject: `0x${index}`,
    result: 200,
    request_id: null,
  }))

onEveryStore((opened) => {
  test('covers all entries in their order by the head of the audit trail, also in large batches', async () => {
    const { store } = opened()
    expect(await store.auditHead()).toEqual({ chain: 1, up_to: 0, hash: expect.anything() })
    expect(await store.auditHeads()).toEqual([])
    const batches = [entries(3), entries(12_000)]
    let head = beginning
    for (const batch of batches) {
      await store.appendAudit(batch)
      head = batchesAfter(head, batch).at(-1) ?? head
    }
    const { up_to, hash } = await store.auditHead()
    expect(await store.auditHeads()).toEqual([{ chain: 1, up_to, hash }])
    expect([up_to, Buffer.from(hash).toString('hex')]).toEqual([12_003, Buffer.from(head.hash).toString('hex')])
  })

  test('reads the generation, and answers a ping', async () => {
    const { store } = opened()
    await store.ping()
    expect(await store.generation()).toBe(1)
  })
})
