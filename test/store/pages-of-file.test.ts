import { expect, test } from 'vitest'
import { bytesRead } from '../support/bytes-read.ts'
import { startTestService } from '../support/service.ts'
import { insertTransactions, transactionId } from '../support/transactions.ts'

const listPath = '/api/v1/relayers/{relayer_id}/transactions/'

test('reads a few pages of the file for page 1 and for page 30,000 of 300,000 transactions', async () => {
  const seeded = await startTestService()
  await insertTransactions(seeded, 'demo', 300_000)
  await seeded.close()
  // SQLite's cache is empty in a new connection, so whatever a page needs is read from the file, and counted.
  const cost = async (page: number) => {
    const service = await startTestService({ DATA_DIR: seeded.data_dir })
    const list = (number: number) =>
      service.client.get(listPath, { path: { relayer_id: 'demo' }, query: { page: number } })
    const before = bytesRead()
    const { data, pagination } = await list(page)
    const bytes = bytesRead() - before
    expect(pagination).toEqual({ current_page: page, per_page: 10, total_items: 300_000 })
    const newest = 300_000 - (page - 1) * 10
    expect(data.map(({ id }) => id)).toEqual(
      Array.from({ length: 10 }, (_, index) => transactionId('demo', newest - index)),
    )
    await service.close()
    return bytes
  }
  // A walk over the table reads some 60 MB, one over its smallest index some 5 MB.
  for (const page of [1, 2, 15_000, 30_000]) expect(await cost(page), `page ${page}`).toBeLessThan(256 * 1024)
})
