import { gunzipSync, gzipSync } from 'node:zlib'
import { getAddress, Interface } from 'ethers'
import { beforeAll, expect, test } from 'vitest'
import type { Account } from '../support/rig.ts'
import { compileSolidity } from '../support/solidity.ts'
import { act, named, openConsole, startStage } from './browser.ts'

const maxFirstLoadBytes = 200 * 1_024
const receiver = `0x${'5a'.repeat(20)}`
const { abi, bytecode } = compileSolidity('CountedToken.sol', 'CountedToken')
const token = new Interface(abi)

const stage = startStage()
let account: Account

beforeAll(async () => {
  account = await stage.rig.addAccount()
})

/** The console, signed in. */
async function start(options = {}) {
  const opened = await openConsole(stage.browser, stage.rig.url(), options)
  await opened.signIn(stage.rig.api_key)
  return opened
}

test('gives all digits one width, also where a font is set, and amounts and addresses one form', async () => {
  await stage.rig.chain.setBalance(account.address, 1_234_567_890n * 10n ** 12n)
  const { page, open } = await start()
  await page.getByRole('table', { name: 'relayers' }).waitFor()
  const variants = await page.evaluate<string[]>(
    `[...new Set([...document.querySelectorAll('td, dd, button, input')].map((one) => getComputedStyle(one).fontVariantNumeric))]`,
  )
  expect(variants).toEqual(['tabular-nums'])
  // As many decimals as on any other page.
  await page.getByRole('row', { name: account.relayer_id }).getByText('1,234.567890 ETH').waitFor()
  await open(`/relayers/${account.relayer_id}`)
  await page.locator('.head dd').getByText('1,234.567890 ETH').waitFor()
  expect(await page.locator('.head code').first().textContent(), 'with its checksum (ERC-55)').toBe(
    getAddress(account.address),
  )
})

test('loads at most 200 KB, compressed, for the overview', async () => {
  const { page } = await openConsole(stage.browser, stage.rig.url())
  const files: Promise<number>[] = []
  const compressed = (body: Buffer) => gzipSync(body[0] === 0x1f ? gunzipSync(body) : body).length
  page.on('response', (response) => {
    if (/\/console(\/|$)/.test(new URL(response.url()).pathname)) files.push(response.body().then(compressed))
  })
  await page.reload()
  await page.getByLabel('API key').fill(stage.rig.api_key)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Relayers' }).waitFor()
  await page.getByRole('table', { name: 'relayers' }).waitFor()
  const bytes = await Promise.all(files)
  const sum = bytes.reduce((all, one) => all + one, 0)
  process.stdout.write(`The overview loads ${Math.round(sum / 1_024)} KB in ${bytes.length} files.\n`)
  expect(bytes.length).toBeGreaterThan(2)
  expect(sum).toBeLessThanOrEqual(maxFirstLoadBytes)
})

test('shows the values under the pointer of a chart, and opens the transactions of that time', async () => {
  await account.send(3)
  await account.finished()
  const { page, open } = await start()
  await open(`/relayers/${account.relayer_id}/activity`)
  const chart = page.getByRole('figure').filter({ hasText: 'Transactions per hour' })
  await chart.getByRole('img', { name: /accepted: highest 3, last 3/ }).waitFor()
  await named(page, '1 h').click()
  await page.getByRole('figure').filter({ hasText: 'Transactions per 5 minutes' }).waitFor()
  await named(page, '7 d').click()
  await page.getByRole('figure').filter({ hasText: 'Transactions per day (UTC)' }).waitFor()
  await page.getByText('3 accepted').first().waitFor()
  const plot = page.locator('.u-over').first()
  const { width, height } = (await plot.boundingBox()) ?? { width: 0, height: 0 }
  await plot.hover({ position: { x: width - 12, y: height / 2 } })
  const tip = page.locator('.tip').first()
  await tip.getByText('(UTC)').waitFor()
  await expect.poll(() => tip.locator('dd').allTextContents()).toEqual(['3', '3', '0', '0'])
  // It covers neither the axis nor the point.
  const [shown, inside] = [await tip.boundingBox(), await plot.boundingBox()]
  expect(shown?.x).toBeGreaterThan(inside?.x ?? 0)
  expect((shown?.x ?? 0) + (shown?.width ?? 0)).toBeLessThan((inside?.x ?? 0) + width - 12)
  await plot.click({ position: { x: width - 12, y: height / 2 } })
  await page.getByText('3 transactions, newest first').waitFor()
  await page.goBack()
  await page.waitForURL(/activity\/period%253Dweek$/)
  await page.goForward()
  expect(await page.getByLabel('From (UTC)').inputValue()).toMatch(/^\d{4}-\d\d-\d\dT00:00$/)
  expect(await page.getByLabel('Filter by').inputValue()).toBe('')
})

test('draws what failed on the bar of what succeeded, and hides what is chosen in the legend', async () => {
  const path = { relayer_id: account.relayer_id }
  const reverts = { to: null, data: '0xfe', gas_limit: 120_000 }
  await account.send(3)
  await stage.rig.client().post('/api/v1/relayers/{relayer_id}/transactions', { path, body: reverts })
  await account.finished()
  const { page, open, expectComplaint } = await start()
  expectComplaint(/willReadFrequently/)
  await open(`/relayers/${account.relayer_id}/activity`)
  await page.getByRole('img', { name: /failed: highest 1/ }).waitFor()
  /** Of the columns of pixels: where red ends, and where green begins. Infinite: a column has none. */
  const columns = () =>
    page.evaluate<{ red: number; green: number }[]>(`(() => {
      const { width, height, data } = ((canvas) => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height))(
        document.querySelector('.chart canvas'))
      const rows = [...Array(height).keys()]
      // The bar of the hour that is not over is paler.
      const is = (x, y, color) => [1, 0.4].some((share) => color.every(
        (part, at) => Math.abs(data[(y * width + x) * 4 + at] - (part * share + 255 * (1 - share))) < 8))
      return [...Array(width).keys()].map((x) => ({
        red: Math.max(...rows.filter((y) => is(x, y, [179, 38, 30]))),
        green: Math.min(...rows.filter((y) => is(x, y, [20, 113, 63]))),
      }))
    })()`)
  const edges = async () => (await columns()).filter(({ red, green }) => Number.isFinite(red) && Number.isFinite(green))
  await expect.poll(async () => (await edges()).length).toBeGreaterThan(2)
  expect((await edges()).filter(({ red, green }) => red > green)).toEqual([])
  const figures = page.getByRole('figure').first()
  const counts = await figures.locator('.legend strong').allTextContents()
  const [succeeded = 0, failed = 0, other] = counts.map(Number)
  expect([failed, other]).toEqual([1, 0])
  await figures.getByText(`${succeeded + failed} accepted`).waitFor()
  await figures.getByRole('button', { name: /^succeeded/ }).click()
  await expect.poll(async () => (await columns()).filter(({ green }) => Number.isFinite(green))).toEqual([])
  const bars = await columns()
  const x = bars.findIndex(({ red }) => Number.isFinite(red))
  const canvas = (await page.locator('.chart canvas').first().boundingBox()) ?? { x: 0, y: 0 }
  await page.mouse.click(canvas.x + x + 2, canvas.y + (bars[x]?.red ?? 0) - 2)
  await page.waitForURL(/list\/failed\/after/)
  await page.getByText('1 transaction', { exact: true }).waitFor()
})

test('reads the times that are typed in the zone that is shown', async () => {
  const { page, open } = await start({ zone: 'Asia/Kolkata' })
  await open('/audit')
  const search = async (typed: string) => {
    await page.getByLabel('Period').selectOption('From … to …')
    await page.getByLabel(/^From/).fill(typed)
    await page.getByLabel(/^From/).press('Enter')
  }
  await search('2026-01-31T05:30')
  await page.waitForURL(/after%253D2026-01-31T00%25253A00%25253A00/)
  expect(await page.getByLabel(/^From/).inputValue()).toBe('2026-01-31T05:30')
  await named(page, 'UTC').click()
  await search('2026-01-31T05:30')
  await page.waitForURL(/after%253D2026-01-31T05%25253A30%25253A00/)
})

test('says what an action did, in a message that goes by itself', async () => {
  const { page, open } = await start()
  await open(`/relayers/${account.relayer_id}`)
  await act(page, named(page, 'Pause'))
  await page.locator('.toast').getByText(`${account.relayer_id} is paused.`).waitFor()
  await act(page, named(page, 'Resume'))
  await page.locator('.toast').getByText(`${account.relayer_id} is resumed.`).waitFor()
  await expect.poll(() => page.locator('.toast').count()).toBe(0)
  await act(page, named(page, 'Pause'))
  await page.locator('.toast').waitFor()
  await act(page, named(page, 'Resume'))
  await open('/networks')
  await expect.poll(() => page.locator('.toast').count(), { timeout: 2_000 }).toBe(0)
})

test('names addresses, calls, logs and errors by what the service knows', async () => {
  const path = { relayer_id: account.relayer_id }
  const made = token.encodeDeploy([account.address, 10n ** 24n]).slice(2)
  const creation = { to: null, data: `${bytecode}${made}` }
  await stage.rig.client().post('/api/v1/relayers/{relayer_id}/transactions', { path, body: creation })
  await account.finished()
  const to = (await account.transactions())[0]?.receipt?.contract_address as string
  const body = { id: 'shop-token', network: 'local', address: to, name: 'Shop token', abi: abi as never }
  await stage.rig.client().post('/api/v1/abis', { body })
  // One after the other: an error tells the balance before its block.
  const call = async (args: unknown[]) => {
    const [query, its] = [
      { wait: 'confirmed' },
      { to, data: token.encodeFunctionData('transfer', args), gas_limit: 120_000 },
    ] as const
    return (await stage.rig.client().post('/api/v1/relayers/{relayer_id}/transactions', { path, query, body: its }))
      .data.id
  }
  const units = 10n ** 18n
  const [good, bad] = [await call([receiver, 1_500n * units + 7n]), await call([receiver, 10n ** 30n])]
  const { page, open } = await start({ width: 1440 })
  await open(`/relayers/${account.relayer_id}/transactions/${good}`)
  await page.getByText('transfer(address,uint256)').waitFor()
  const given = page.getByRole('region', { name: 'Content' }).locator('.arguments')
  await given.locator('dt', { hasText: 'to address' }).waitFor()
  await given.locator('dt', { hasText: 'value uint256' }).waitFor()
  await expect.poll(() => page.getByText('Shop token').count()).toBeGreaterThan(1)
  const logs = page.getByRole('listitem').filter({ hasText: 'Transfer' })
  await logs.getByText('1,500.000000000000000007 CNT').waitFor()
  await given.getByText('1,500.000000000000000007 CNT').waitFor()
  await logs.getByRole('link', { name: account.relayer_id }).first().waitFor()
  await open(`/relayers/${account.relayer_id}/transactions/${bad}`)
  const why = page.getByRole('region', { name: 'Explanation' })
  const balance = '998,499.999999999999999993'
  await why
    .getByText(`Failed: ${account.relayer_id} has ${balance} CNT, the transfer needs 1,000,000,000,000 CNT.`)
    .waitFor()
  await why.getByText(/^Revert data/).click()
  await why
    .locator('details code', { hasText: /^ERC20InsufficientBalance\(sender: 0x[0-9a-fA-F]{40}, balance: \d+,/ })
    .waitFor()
  // The call says it in words.
  expect(await page.getByRole('region', { name: 'Content' }).locator('details.bytes').getAttribute('open')).toBeNull()
  await why.getByTitle(`1${'0'.repeat(30)}`, { exact: true }).waitFor()
  await why.getByRole('link', { name: account.relayer_id }).waitFor()
  await open(`/relayers/${account.relayer_id}/events`)
  await page
    .getByRole('table', { name: 'events' })
    .getByText(`Reverted: ${account.relayer_id} has ${balance} CNT, the transfer needs 1,000,000,000,000 CNT`)
    .waitFor()
  await open('/transactions')
  const row = page.getByRole('row').filter({ hasText: 'transfer on Shop token' })
  await row.getByTitle('1,000,000,000,000 CNT').getByText('1,000,000,000,000 CNT').waitFor()
  for (const width of [1_280, 1_240, 1_024, 860, 780]) {
    await page.setViewportSize({ width, height: 900 })
    const cut = `[...document.querySelectorAll('.list td.number')].filter((one) => one.scrollWidth > one.clientWidth).length`
    expect(await page.evaluate(cut), `no value is cut at ${width} px`).toBe(0)
  }
  expect(await row.getByText('1,500.000000 CNT').getAttribute('title')).toBe('1,500.000000000000000007 CNT')
  await open('/')
  await page
    .locator('.troubles')
    .getByText(`${account.relayer_id} has ${balance} CNT, the transfer needs 1,000,000,000,000 CNT`)
    .waitFor({ timeout: 60_000 })
})

test('groups the units of a token whose contract does not tell its decimals', async () => {
  const path = { relayer_id: account.relayer_id }
  const to = `0x${'7e'.repeat(20)}`
  const its = { id: 'silent', network: 'local', address: to, name: 'Silent token', abi: abi as never }
  await stage.rig.client().post('/api/v1/abis', { body: its })
  const data = token.encodeFunctionData('transfer', [receiver, 1_234_567])
  await stage.rig
    .client()
    .post('/api/v1/relayers/{relayer_id}/transactions', { path, body: { to, data, gas_limit: 120_000 } })
  await account.finished()
  const { page, open } = await start()
  await open('/transactions')
  await page.getByText('1,234,567 units of Silent token').waitFor()
})

test('lists events of before the page was opened', async () => {
  const { page, open } = await start()
  await open(`/relayers/${account.relayer_id}/events`)
  await page.getByText(/^Latest \d+ events, grouped by transaction\. Live\.$/).waitFor()
  const events = page.getByRole('table', { name: 'events' })
  await events
    .getByRole('row', { name: /^nonce 0 confirmed .* (?:\d+\.\d|\d+) m?s/ })
    .getByTitle(/^pending \d\d:\d\d:\d\d, .*mined .*confirmed \d\d:/)
    .waitFor()
})
