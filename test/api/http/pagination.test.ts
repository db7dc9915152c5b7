import { expect, test } from 'vitest'
import { createRelayer } from '../../support/resources.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { rowsOf } from '../../support/service-database.ts'
import { insertTransactions } from '../../support/transactions.ts'

const total = 25

/** Five lists, each of 25 items. */
async function startWithLists() {
  const service = await startTestService()
  const { client } = service
  for (let index = 1; index < total; index += 1) {
    const { id } = await createRelayer(client)
    await client.post('/api/v1/networks', {
      body: { name: `n${index}`, network_type: 'evm', chain_id: index, rpc_urls: ['https://rpc.example.com'] },
    })
    await client.post('/api/v1/notifications', { body: { id, url: 'https://hooks.example.com' } })
  }
  await client.post('/api/v1/notifications', { body: { url: 'https://hooks.example.com' } })
  await insertTransactions(service, 'demo', total)
  return service
}

const lists = [
  '/api/v1/relayers',
  '/api/v1/signers',
  '/api/v1/networks',
  '/api/v1/notifications',
  '/api/v1/relayers/demo/transactions/',
]

interface Page {
  data: { id: string }[]
  pagination: unknown
}

async function get(service: TestService, url: string): Promise<Page> {
  const response = await service.raw(url)
  expect(response.status, url).toBe(200)
  return (await response.json()) as Page
}

const safe = Number.MAX_SAFE_INTEGER

// The query, the number of items in the response, and its `pagination`.
const pages: [string, number, number, number][] = [
  ['', 10, 1, 10],
  ['?', 10, 1, 10],
  ['?page=1', 10, 1, 10],
  ['?page=0', 10, 1, 10],
  ['?page=0&per_page=0', 0, 1, 0],
  ['?page=3', 5, 3, 10],
  ['?page=4', 0, 4, 10],
  ['?per_page=0', 0, 1, 0],
  ['?page=7&per_page=0', 0, 7, 0],
  ['?per_page=1', 1, 1, 1],
  ['?per_page=25', 25, 1, 25],
  ['?per_page=1000', 25, 1, 1000],
  ['?per_page=1001', 25, 1, 1000],
  [`?per_page=${safe}`, 25, 1, 1000],
  ['?page=2&per_page=1001', 0, 2, 1000],
  [`?page=${safe}`, 0, safe, 10],
  [`?page=${safe}&per_page=${safe}`, 0, safe, 1000],
  ['?page=0000000000000003', 5, 3, 10],
  ['?%70age=%33', 5, 3, 10],
]

test('returns as many items as the page reports, with the page number and the true total', async () => {
  const service = await startWithLists()
  for (const list of lists) {
    for (const [query, items, currentPage, perPage] of pages) {
      const { data, pagination } = await get(service, `${list}${query}`)
      expect.soft(data.length, `${list}${query}`).toBe(items)
      expect
        .soft(pagination, `${list}${query}`)
        .toEqual({ current_page: currentPage, per_page: perPage, total_items: total })
    }
  }
})

test('partitions a list into pages, in one order', async () => {
  const service = await startWithLists()
  for (const list of lists) {
    const all = (await get(service, `${list}?per_page=25`)).data.map(({ id }) => id)
    expect(new Set(all).size).toBe(total)
    for (const perPage of [1, 7, 24]) {
      const walked: string[] = []
      for (let page = 1; page <= Math.ceil(total / perPage); page += 1) {
        const { data } = await get(service, `${list}?page=${page}&per_page=${perPage}`)
        walked.push(...data.map(({ id }) => id))
      }
      expect(walked, `${list} by ${perPage}`).toEqual(all)
    }
  }
})

test('counts and pages a table that is counted in several steps', async () => {
  const service = await startTestService()
  const many = 20_500
  await rowsOf(
    service,
    `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${many})
    INSERT INTO notifications (id, type, url) SELECT 'n-' || n, 'webhook', 'http://127.0.0.1:1/' FROM numbers`,
  )
  // Gaps between keys.
  await rowsOf(service, "DELETE FROM notifications WHERE id IN ('n-7', 'n-10001', 'n-15000')")
  const expected = Array.from({ length: many }, (_, index) => `n-${index + 1}`).filter(
    (id) => !['n-7', 'n-10001', 'n-15000'].includes(id),
  )
  for (const [page, perPage] of [
    [1, 1000],
    [10, 1000],
    [11, 1000],
    [11, 999],
    [21, 1000],
    [22, 1000],
    [20_497, 1],
    [10_000, 1],
    [10_001, 1],
  ] as const) {
    const { data, pagination } = await get(service, `/api/v1/notifications?page=${page}&per_page=${perPage}`)
    expect(pagination).toEqual({ current_page: page, per_page: perPage, total_items: expected.length })
    expect(data.map(({ id }) => id)).toEqual(expected.slice((page - 1) * perPage, page * perPage))
  }
})

const absurd =
  `page=-1 page=+1 page=1e2 page=0x10 page=1.0 page=1.5 page= page=%201 page=1%20 page=%2B1 page=abc page=null
  page=true page=NaN page=Infinity page=١ page=１ page=1,2 page[]=1 page[0]=1 page[a]=1 page=1&page=1 page=1&page=2
  page=1&%70age=2 page=9007199254740992 page=9007199254740993 page=99999999999999999999 page=1%00 page=1_000 page=1n
  per_page=-1 per_page=1e2 per_page= per_page=9007199254740992 per_page=5&per_page=5 per_page=--1 per_page=0.0
  Page=1 PAGE=1 limit=10 offset=5 cursor=x page=1&unknown=1 unknown __proto__=1 constructor=1 page;per_page=1`.split(
    /\s+/,
  )

test('refuses an invalid, repeated or unknown query parameter and names it', async () => {
  const { raw } = await startTestService()
  for (const list of lists) {
    for (const query of absurd) {
      const response = await raw(`${list}?${query}`)
      expect.soft(response.status, `${list}?${query}`).toBe(400)
      expect.soft(await response.json(), `${list}?${query}`).toMatchObject({
        success: false,
        data: null,
        message: 'Bad Request',
        details: [{ path: expect.stringMatching(/^\/query/), message: expect.stringMatching(/./) }],
      })
    }
  }
})
