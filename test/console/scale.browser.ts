import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAnvil } from '../support/anvil.ts'
import { startTestService } from '../support/service.ts'
import { insertTransactions } from '../support/transactions.ts'
import { openConsole } from './browser.ts'
import { startBrowser } from './start-browser.ts'

const relayers = 1_000
const transactions = 100_000
const watchedS = 30
const atOnce = 20

let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser?.close())

test(`shows ${relayers} relayers and ${transactions} transactions with few requests`, {
  timeout: 300_000,
}, async () => {
  const chain = await startAnvil({ noMining: true })
  let closePage = async () => {}
  const service = await startTestService({ RATE_LIMIT_PER_SECOND: '100000', RATE_LIMIT_BURST: '1000000' })
  try {
    const { client } = service
    const body = { rpc_urls: [chain.url] }
    await client.patch('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' }, body })
    const create = async (index: number) => {
      const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
      const its = { id: `relayer-${index}`, name: `Relayer ${index}`, network: 'local', network_type: 'evm' } as const
      await client.post('/api/v1/relayers', { body: { ...its, paused: false, signer_id: signer.id } })
    }
    for (let first = 0; first < relayers; first += atOnce)
      await Promise.all(Array.from({ length: atOnce }, (_, index) => create(first + index)))
    await insertTransactions(service, 'relayer-1', transactions)

    const { page, signIn, open, longTasks, close } = await openConsole(browser, service.url)
    closePage = close
    let requests = 0
    page.on('request', () => {
      requests += 1
    })
    const look = async (path: string, ready: () => Promise<unknown>) => {
      await open(path)
      await ready()
      await longTasks()
      const [asked, used] = [requests, process.cpuUsage()]
      await new Promise((resolve) => setTimeout(resolve, watchedS * 1_000))
      const { user, system } = process.cpuUsage(used)
      const aMinute = 60 / watchedS
      const figures = {
        requests: (requests - asked) * aMinute,
        cpu_ms: Math.round(((user + system) / 1_000) * aMinute),
        long_tasks: (await longTasks()).length,
      }
      process.stdout.write(`${path}: a minute ${JSON.stringify(figures)}\n`)
      return figures
    }
    await signIn(service.api_key)
    const overview = await look('/', () => page.getByText(`Page 1 of`).waitFor())
    // 25 balances, and a few lists: not a request for each of a thousand relayers.
    expect(overview.requests).toBeLessThan(250)
    const list = await look('/transactions', () =>
      page
        .getByText(/100,\d{3} transactions|10,000/)
        .first()
        .waitFor(),
    )
    expect(list.requests).toBeLessThan(120)
  } finally {
    await closePage()
    await service.close()
    await chain.stop()
  }
})
