import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Account } from '../support/rig.ts'
import { act, named, openConsole, startStage } from './browser.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const id = 'shop-events'
const one = '/api/v1/notifications/{notification_id}'
const path = { notification_id: id }

const stage = startStage()
let receiver: Receiver
let account: Account
let page: Page

beforeAll(async () => {
  receiver = await startReceiver()
  account = await stage.rig.addAccount()
})
afterAll(async () => {
  await receiver?.stop()
})

const change = (body: { paused: boolean } | { notification_id: string }) =>
  stage.rig.client().patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: account.relayer_id }, body })
const health = async () => (await stage.rig.client().get(`${one}/health`, { path })).data
const deliveries = async () => (await stage.rig.client().get(`${one}/deliveries`, { path })).data
const statuses = async () => (await deliveries()).map(({ status }) => status)
/** The newest first. */
const attempts = async () => (await deliveries()).map((delivery) => delivery.attempts.length)

test('creates and tests a notification, redelivers its deliveries, and changes its URL', async () => {
  const opened = await openConsole(stage.browser, stage.rig.url())
  page = opened.page
  await opened.signIn(stage.rig.api_key)
  await opened.open('/notifications')
  await act(page, named(page, 'Create a notification'), async (dialog) => {
    await dialog.getByLabel('URL').fill(receiver.url)
    await dialog.getByLabel('ID (optional)').fill(id)
  })
  expect((await stage.rig.client().get(one, { path })).data).toMatchObject({ id, url: receiver.url })
  await page.locator('.toast').getByRole('link', { name: id }).click()

  await act(page, named(page, 'Send a test'))
  await page.locator('.toast').getByText(`${id} answered the test with 200`).waitFor()
  expect(receiver.bodies.map((body) => JSON.parse(body).event)).toEqual(['test'])

  await change({ notification_id: id })
  await change({ paused: true })
  await expect.poll(statuses).toEqual(['delivered'])
  await page.getByTitle('No delivery has failed.').waitFor()
  expect(await named(page, 'Redeliver failed').isDisabled()).toBe(true)
  await act(page, named(page, 'Redeliver'))
  await expect.poll(attempts).toEqual([2])

  receiver.answer(410, 'gone')
  await change({ paused: false })
  await expect.poll(async () => (await health()).status).toBe('disabled')
  await change({ paused: true })
  await expect.poll(statuses).toEqual(['failed', 'failed', 'delivered'])
  await page.getByText('This notification is disabled').waitFor()

  receiver.answer(200)
  const url = `${receiver.url}/new`
  await act(page, named(page, 'Edit'), async (dialog) => {
    await dialog.getByLabel('URL').fill(url)
    await dialog.getByLabel('failed', { exact: true }).check()
  })
  expect((await stage.rig.client().get(one, { path })).data).toMatchObject({ url, filter: { statuses: ['failed'] } })
  await page.getByText('every event, of transactions that are failed').waitFor()
  await act(page, named(page, 'Edit'), (dialog) => dialog.getByLabel('failed', { exact: true }).uncheck())
  expect((await stage.rig.client().get(one, { path })).data.filter).toBeNull()
  expect((await health()).status).not.toBe('disabled')
  await act(page, named(page, 'Redeliver failed'), (dialog) => dialog.getByLabel('Since').fill('2099-01-01T00:00'))
  expect(await statuses()).toEqual(['failed', 'failed', 'delivered'])
  await act(page, named(page, 'Redeliver failed'), (dialog) => dialog.getByLabel('Since').fill('2020-01-01T00:00'))
  await expect.poll(statuses).toEqual(['delivered', 'delivered', 'delivered'])
})

test('links what a delivery is about, and leads to the older deliveries', async () => {
  await change({ paused: false })
  await account.send(11)
  await account.finished(() => stage.rig.chain.mine())
  const opened = await openConsole(stage.browser, stage.rig.url())
  page = opened.page
  await opened.signIn(stage.rig.api_key)
  await opened.open(`/notifications/${id}`)
  await page.getByText(/^Page 1 of 2, \d+ deliveries$/).waitFor()
  const rows = page.getByRole('table', { name: 'deliveries' }).getByRole('row')
  for (const state of ['sent', 'submitted', 'mined', 'confirmed'])
    await rows
      .filter({ hasText: `transaction ${state}` })
      .first()
      .waitFor()
  await named(page, 'Next').click()
  await page.getByText(/^Page 2 of 2/).waitFor()
  const about = page.getByRole('table', { name: 'deliveries' }).getByRole('link')
  await about.filter({ hasText: account.relayer_id }).last().waitFor()
  await about
    .filter({ hasText: `${account.relayer_id} · nonce 0` })
    .first()
    .click()
  await page.getByRole('heading', { name: `${account.relayer_id} · nonce 0` }).waitFor()
})
