import { expect, onTestFinished, test } from 'vitest'
import { createRelayerClient } from '../../client/index.ts'
import { paymentRig } from '../support/payment-rig.ts'
import { act, choose, named, openConsole } from './browser.ts'
import { startBrowser } from './start-browser.ts'

test('lists facilitators and their payments, and creates, changes and deletes them', async () => {
  const its = await paymentRig()
  const { rig, client } = its
  const payer = await its.newPayer()
  const { extra } = await its.settle(await its.pay(payer))
  const browser = await startBrowser()
  onTestFinished(() => browser.close())
  const { page, signIn, open, accessibilityFaults, picture } = await openConsole(browser, rig.url())
  await signIn(rig.api_key)
  await open('/facilitators')
  await page.getByRole('link', { name: 'shop', exact: true }).click()
  const row = page.getByRole('row').filter({ hasText: 'settled' })
  await row.getByText('10,000 base units').waitFor()
  expect(await row.locator(`code[title="${payer.address}"]`).count()).toBe(1)
  expect(await row.locator(`code[title="${extra?.payment}"]`).count()).toBe(1)
  expect(await accessibilityFaults()).toEqual([])
  await picture('facilitator')
  // Its key leads back to it.
  await page.getByRole('link', { name: 'Facilitator shop', exact: true }).click()
  await page.getByRole('link', { name: 'facilitator shop' }).click()
  await row.waitFor()

  await act(page, named(page, 'Edit'), async (dialog) => dialog.getByLabel('Budget for fees').fill('0.5'))
  await page.getByText('0.5 ETH').waitFor()
  const { max_fee_per_day, revision } = await client.facilitators.get('shop')
  expect(max_fee_per_day).toBe(`${5n * 10n ** 17n}`)

  // Somebody else changes it while the dialog is open.
  const dialog = page.getByRole('dialog')
  await named(page, 'Edit').click()
  await client.facilitators.update('shop', { pay_to: its.token }, { revision })
  await dialog.getByText('Somebody has changed this').waitFor()
  await named(dialog, 'Begin again with these').click()
  await dialog.getByLabel('Paid to').fill(its.payee)
  await dialog.locator('button[type=submit]').click()
  await expect.poll(async () => (await client.facilitators.get('shop')).pay_to).toBe(its.payee)

  await open('/facilitators')
  await act(page, named(page, 'Create a facilitator'), async (form) => {
    await form.getByLabel('ID (optional)').fill('library')
    await form.getByLabel('Pool').selectOption('payers (local)')
    await form.getByLabel('Tokens').fill(its.token)
    await form.getByLabel('Limit per payment 1').fill('50000')
    await form.getByLabel('Paid to').fill(its.payee)
    await form.getByLabel('Fee limit').fill('0.01')
    await form.getByLabel('Budget for fees').fill('1')
  })
  const token = (await dialog.locator('code').textContent()) ?? ''
  const own = createRelayerClient({ baseUrl: rig.url(), token })
  expect((await own.facilitators.getSupportedPayments('library')).kinds).toHaveLength(1)
  // It is shown this once: only its button closes the dialog.
  await page.keyboard.press('Escape')
  await named(dialog, 'Close').click()
  const listed = page.getByRole('table').getByRole('link', { name: 'library', exact: true })
  await listed.waitFor()
  await page.setViewportSize({ width: 375, height: 800 })
  const cells = page.getByRole('row').filter({ hasText: 'library' }).locator('td')
  const [paidTo, fees] = [cells.filter({ has: page.locator('.named') }), cells.filter({ hasText: 'ETH' }).first()]
  const { y = 0, height = 0 } = (await paidTo.boundingBox()) ?? {}
  expect((await fees.boundingBox())?.y).toBeGreaterThanOrEqual(y + height)
  await page.setViewportSize({ width: 1280, height: 900 })
  await listed.click()
  await page.getByText('No payments yet').waitFor()
  await choose(page, 'library', 'Delete')
  await dialog.locator('button[type=submit]').click()
  await listed.waitFor({ state: 'detached' })
}, 120_000)
