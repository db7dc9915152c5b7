import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { choose, named, openConsole, startStage } from './browser.ts'

const stage = startStage()

async function start() {
  const opened = await openConsole(stage.browser, stage.rig.url())
  opened.expectComplaint(/status of (?:400|404|409)/)
  await opened.signIn(stage.rig.api_key)
  return opened
}

const confirm = (page: Page) => page.getByRole('dialog').locator('button[type=submit]').click()
/** The label of the field that has the fault under it, and the fault. */
const fault = (dialog: Locator, label: string) => dialog.locator('label', { hasText: label }).locator('.fault')

test('says what is wrong with an input under its field', async () => {
  const { page, open } = await start()
  const dialog = page.getByRole('dialog')
  await open('/relayer-list')
  await named(page, 'Create a relayer').click()
  await dialog.getByLabel('Id', { exact: true }).fill('demo')
  await dialog.getByLabel('Network').selectOption('local')
  await dialog.getByLabel('Allowed receivers').fill(`0x${'5a'.repeat(20)}\nnobody`)
  await confirm(page)
  await fault(dialog, 'Allowed receivers')
    .getByText(/^Entry 2 must be/)
    .waitFor()
  await dialog.getByLabel('Allowed receivers').fill('')
  await confirm(page)
  await fault(dialog, 'Id').getByText('A relayer with this ID already exists.').waitFor()
  expect(await dialog.locator('.fault').count()).toBe(1)
  expect(await dialog.locator('.problem').count()).toBe(0)
  await named(dialog, 'Close').click()

  await open('/relayers/demo/policies')
  await page.getByRole('listitem').filter({ hasText: 'max_fee_per_transaction' }).getByRole('button').click()
  await page.getByRole('heading', { name: 'Change fee limit per transaction' }).waitFor()
  await dialog.getByLabel(/^Fee limit per transaction in/).fill('much')
  await confirm(page)
  await fault(dialog, 'Fee limit').getByText('Enter an amount in ETH, such as 0.05').waitFor()
})

test('says without a path what is wrong with something else, names the object in a dialog and in the message', async () => {
  const { page, open } = await start()
  await stage.rig.client().post('/api/v1/networks', {
    body: { name: 'spare', network_type: 'evm', chain_id: 9_999, rpc_urls: [{ url: 'http://127.0.0.1:1' }] },
  })
  await open('/networks')
  await choose(page, 'local', 'Delete')
  await page.getByRole('heading', { name: 'Delete network local' }).waitFor()
  await named(page.getByRole('dialog'), 'Delete network local').click()
  await page
    .getByRole('dialog')
    .getByText('A relayer uses this network; delete its relayers first.', { exact: true })
    .waitFor()
  await named(page.getByRole('dialog'), 'Close').click()
  await choose(page, 'spare', 'Delete')
  await confirm(page)
  await page.locator('.toast').getByText('Network spare is deleted.').waitFor()
})
