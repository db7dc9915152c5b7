import { expect, test } from 'vitest'
import type { AuditEntry, PendingAuditEntry } from '../../../server/domain/rows.ts'
import { batchesAfter, beginning } from '../../../server/store/queries/audit.ts'
import { addRelayer, networkOf, unique } from './resources.ts'
import { onEveryStore } from './stores.ts'

const entries = (count: number): AuditEntry[] =>
  Array.from({ length: count }, (_, index) => ({
    at: index,
    caller: 'environment',
    operation: 'signMessage',
    relayer_id: 'demo',
    subject: `0x${index}`,
    http_status: 200,
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

  test('commits an audit entry with the change of its method, and none with a refused or failed one', async () => {
    const { store } = opened()
    const relayer = await addRelayer(opened())
    const id = unique('audited')
    const under = <T>(operation: string, work: (auditEntry: PendingAuditEntry) => Promise<T>) => {
      const auditEntry = { ...(entries(1)[0] as AuditEntry), caller: id, operation, recorded: false }
      return work(auditEntry).then(
        (answer) => [answer, auditEntry.recorded],
        (error: Error) => [error.message, auditEntry.recorded],
      )
    }
    const network = networkOf(id)
    const failing = () => {
      throw new Error('after the lock')
    }
    expect(await under('create', (auditEntry) => store.createNetwork(network, auditEntry))).toMatchObject([
      network,
      true,
    ])
    expect(await under('create again', (auditEntry) => store.createNetwork(network, auditEntry))).toEqual([
      undefined,
      false,
    ])
    expect(await under('fail', (auditEntry) => store.updateNetwork(network.id, failing, { auditEntry }))).toEqual([
      'after the lock',
      false,
    ])
    expect(await under('fail', (auditEntry) => store.updateRelayer(relayer.id, failing, { auditEntry }))).toEqual([
      'after the lock',
      false,
    ])
    expect(
      await under('in use', (auditEntry) => store.deleteNetwork(`evm:${relayer.network}`, { auditEntry })),
    ).toEqual([{ used_by: 'relayers', ids: [relayer.id] }, false])
    // Each of the changes that share a commit has its own.
    const spend = { policy: 'max_value_per_day' as const, asset: 'wei', amount: '2', limit: '3' }
    const spent = await Promise.all(
      ['spend', 'too much'].map((operation) =>
        under(operation, (auditEntry) => store.spend({ account: relayer, spending: [spend] }, auditEntry)),
      ),
    )
    expect(spent.map(([, isRecorded]) => isRecorded)).toEqual([true, false])
    expect(await store.getNetwork(network.id)).toMatchObject(network)
    expect(await store.getRelayer(relayer.id)).toEqual(relayer)
    const { items } = await store.listAudit({ offset: 0, limit: 10 }, { caller: id })
    expect(items.map(({ operation }) => operation).sort()).toEqual(['create', 'spend'])
  })

  test('reads the generation, and answers a ping', async () => {
    const { store } = opened()
    await store.ping()
    expect(await store.generation()).toEqual(expect.any(Number))
  })
})
