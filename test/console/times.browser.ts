import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { duration } from '../../client/console/data/times.ts'
import type { Account } from '../support/rig.ts'
import { act, named, openConsole, startStage } from './browser.ts'

const list = '/api/v1/relayers/{relayer_id}/transactions'
const exactTime = /\d{1,2} \w{3} \d{4}(?:,| at) \d\d:\d\d:\d\d/
const wei = '1500000000000000001'

const stage = startStage()
let account: Account

beforeAll(async () => {
  account = await stage.rig.addAccount()
  const path = { relayer_id: account.relayer_id }
  await stage.rig.client().post(list, { path, body: { to: account.address, value: wei, reference: 'order-7' } })
  await account.finished()
})

/** Keeps the texts that the first chart draws, with where they stand. */
const keepTexts = `
  window.drawn = []
  const draw = CanvasRenderingContext2D.prototype.fillText
  CanvasRenderingContext2D.prototype.fillText = function (text, x, ...others) {
    window.drawn.push({ text, x: x / devicePixelRatio, canvas: this.canvas })
    return draw.call(this, text, x, ...others)
  }`

/** The days below the first chart, and the distance of each from the left edge of the plot. */
const daysOf = (page: Page) =>
  page.evaluate<{ text: string; x: number }[]>(`(() => {
    const canvas = document.querySelector('.chart canvas')
    const left = document.querySelector('.chart .u-over').getBoundingClientRect().left - canvas.getBoundingClientRect().left
    const days = drawn.filter((one) => one.canvas === canvas && /^\\d+ \\w+$/.test(one.text))
    return [...new Map(days.map(({ text, x }) => [text, { text, x: x - left }])).values()]
  })()`)

test.each(['Europe/Berlin', 'America/Los_Angeles', 'Asia/Kolkata'])(
  'marks the bars of days with their days in UTC, in a browser of %s',
  async (zone) => {
    const { page, context, signIn, open } = await openConsole(stage.browser, stage.rig.url(), { zone })
    await context.addInitScript(keepTexts)
    await page.reload()
    await signIn(stage.rig.api_key)
    await open(`/relayers/${account.relayer_id}/activity`)
    for (const chosen of ['UTC', 'local'] as const) {
      const zones = page.getByRole('group', { name: 'Time zone' }).getByRole('button')
      await (chosen === 'UTC' ? zones.last() : zones.first()).click()
      await named(page, '7 d').click()
      await page.getByRole('figure').filter({ hasText: 'Transactions per day (UTC)' }).waitFor()
      await page.evaluate('void drawn.splice(0)')
      await page.setViewportSize({ width: chosen === 'UTC' ? 1200 : 1240, height: 900 })
      await expect.poll(async () => (await daysOf(page)).length).toBeGreaterThan(2)
      for (const { text, x } of await daysOf(page)) {
        await page
          .locator('.u-over')
          .first()
          .hover({ position: { x, y: 60 } })
        await expect
          .poll(() => page.locator('.tip div').first().textContent(), { timeout: 2_000 })
          .toMatch(new RegExp(`^${text} \\(UTC\\)(, so far)?$`))
      }
    }
  },
)

test('has the exact time and amount of a row under the pointer, and opens it beside them', async () => {
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url())
  await signIn(stage.rig.api_key)
  await open('/transactions')
  const row = page.getByRole('table', { name: 'Transactions' }).getByRole('row').nth(1)
  for (const title of [exactTime, /^1\.500000000000000001 ETH$/]) {
    const its = row.getByTitle(title)
    const { x, y, width, height } = (await its.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    const at = `document.elementFromPoint(${x + width / 2}, ${y + height / 2})`
    expect(await page.evaluate(`${at}.closest('[title]').title`)).toMatch(title)
  }
  await row.click({ position: { x: 120, y: 20 } })
  await page.getByRole('heading', { level: 1 }).getByText('nonce').waitFor()
  await page.getByText('1.500000000000000001 ETH').waitFor()
})

test('shows exact times on a phone, which has no pointer', async () => {
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url(), { width: 375 })
  await signIn(stage.rig.api_key)
  const [its] = await account.transactions()
  await open(`/relayers/${account.relayer_id}/transactions/${its?.id}`)
  await page
    .getByRole('region', { name: 'Explanation' })
    .getByText(/^\d+ (?:s|min) ago · \d\d:\d\d:\d\d$/)
    .waitFor()
  await page
    .getByRole('region', { name: 'Timeline' })
    .getByText(/^\d{1,2} \w{3}, \d\d:\d\d:\d\d$/)
    .first()
    .waitFor()
})

test('reads when an API key expires in the zone that is shown', async () => {
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url(), { zone: 'Europe/Berlin' })
  await signIn(stage.rig.api_key)
  await open('/keys')
  await act(page, named(page, 'Create an API key'), async (dialog) => {
    await dialog.getByLabel('Name').fill('until noon')
    await dialog.getByLabel('every relayer').check()
    await dialog.getByLabel(/^Expires at/).fill('2030-01-31T05:30')
    await dialog.getByText('Expires at (UTC+1; empty: never)').waitFor()
  })
  const { data } = await stage.rig.client().get('/api/v1/api-keys', { query: {} })
  expect(data.find(({ name }) => name === 'until noon')?.expires_at).toBe('2030-01-31T04:30:00.000Z')
})

test('shows the time of the block, and how long each step of a transaction took', async () => {
  const [its] = await account.transactions()
  const block = its?.receipt?.block_number ?? 0
  const { timestamp } = (await stage.rig.chain.rpc('eth_getBlockByNumber', [`0x${block.toString(16)}`, false])) as {
    timestamp: string
  }
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url())
  await signIn(stage.rig.api_key)
  await open(`/relayers/${account.relayer_id}/transactions/${its?.id}`)
  const steps = page.getByRole('region', { name: 'Timeline' }).getByRole('listitem')
  // The block's own time stands below, where the step's differs from it.
  const last = steps.filter({ hasText: 'In block' }).locator('time').last()
  await expect
    .poll(async () => Math.floor(Date.parse((await last.getAttribute('datetime', { timeout: 1_000 })) ?? '') / 1_000))
    .toBe(Number(timestamp))
  const times = await steps.locator('.step + time').evaluateAll((all) => all.map((one) => one.getAttribute('datetime')))
  expect(times).toHaveLength(4)
  expect(times).toEqual(times.toSorted())
  // A time that is the neighbor's is no measurement.
  const isMeasured = times[2] === new Date(Number(timestamp) * 1_000).toISOString()
  const since = (step: string) => steps.filter({ hasText: step }).locator('.step .hint')
  await since('In block')
    .getByText(isMeasured ? /^\+/ : /^≈ \+/)
    .waitFor()
  for (const [step, at] of [
    ['Signed version 1', times[1]],
    ['Confirmed', times[3]],
  ] as const) {
    const ms = Date.parse(at ?? '') - Date.parse(its?.created_at ?? '')
    await since(step)
      .getByText(`+${duration(ms)}`, { exact: true })
      .waitFor()
  }
})

test('narrows the transactions to a period, in the zone that is shown', async () => {
  const its = await stage.rig.addAccount()
  await its.send(1)
  await its.finished()
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url(), { zone: 'Asia/Kolkata' })
  await signIn(stage.rig.api_key)
  await open(`/relayers/${its.relayer_id}`)
  await page.getByText('1 transaction', { exact: true }).waitFor()
  const period = page.getByLabel('Period')
  await period.selectOption('Last hour')
  await page.waitForURL(/after%253A/)
  await page.getByText('1 transaction', { exact: true }).waitFor()
  expect(await period.inputValue()).toBe('Last hour')
  await period.selectOption('From … to …')
  await page.getByLabel(/^From \(UTC\+5:30/).fill('')
  await page.getByLabel(/^To \(UTC\+5:30/).fill('2020-01-31T05:30')
  await page.getByLabel(/^To \(UTC\+5:30/).press('Enter')
  await page.waitForURL(/before%253A2020-01-31T00%253A00/)
  await page.getByText('No transaction before 31 Jan 2020, 05:30').waitFor()
  await page.getByLabel('Filter by').fill('order-7')
  await page.waitForURL(/before%253A2020-01-31T00%253A00%253A00.000Z%2520order-7/)
  await period.selectOption('Any time')
  await page.waitForURL(/list\/all\/order-7$/)
})

test('says what is wrong with a period under its field, and lists what was listed before', async () => {
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url())
  await signIn(stage.rig.api_key)
  const to = page.getByLabel('To (UTC)')
  const fault = page.getByText('Choose a time after the start.')
  for (const path of ['/transactions', '/audit']) {
    await open(path)
    await page.getByLabel('Period').selectOption('From … to …')
    await page.getByLabel('From (UTC)').fill('2020-01-31T05:30')
    await to.fill('2020-01-31T05:30')
    await to.press('Enter')
    await fault.waitFor()
    expect(page.url()).not.toContain('before')
    await to.fill('2020-01-31T05:31')
    await to.press('Enter')
    await page.waitForURL(/after.*2020-01-31T05.*30.*before.*2020-01-31T05.*31/)
    expect(await fault.count()).toBe(0)
  }
})

test('keeps the period and the network of the charts in the address, beside the filter of the relayers', async () => {
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url())
  await signIn(stage.rig.api_key)
  await open('/')
  await named(page, '30 d').click()
  await named(page, 'paused').click()
  await page.waitForURL(/period%253Dmonth%2526status%253Dpaused$/)
  await page.reload()
  await page.getByRole('figure').filter({ hasText: 'Transactions per day (UTC)' }).waitFor()
  expect(await named(page, 'paused').getAttribute('aria-pressed')).toBe('true')
})
