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
const fault = (dialog: Locator, label: string) =>
  dialog.locator('label, fieldset', { hasText: label }).locator('.fault')

test('says what is wrong with an input under its field', async () => {
  const { page, open } = await start()
  const dialog = page.getByRole('dialog')
  await open('/relayer-list')
  await named(page, 'Create a relayer').click()
  await dialog.getByLabel('ID', { exact: true }).fill('demo')
  await dialog.getByLabel('Network').selectOption('local')
  await dialog.getByLabel('Allowed receivers').fill(`0x${'5a'.repeat(20)}`)
  await named(dialog, 'Add another receiver').click()
  await dialog.getByLabel('Allowed receivers (empty: any) 2').fill('nobody')
  await confirm(page)
  await fault(dialog, 'Allowed receivers')
    .getByText(/^Entry 2 must be/)
    .waitFor()
  await named(dialog, 'Remove receiver 2').click()
  await dialog.getByLabel('Allowed receivers').fill('')
  await confirm(page)
  await fault(dialog, 'ID').getByText('A relayer with this id already exists.').waitFor()
  expect(await dialog.locator('.fault').count()).toBe(1)
  expect(await dialog.locator('.callout').count()).toBe(0)
  await named(dialog, 'Close').click()

  await open('/relayers/demo/policies')
  await page.getByRole('listitem').filter({ hasText: 'max_fee_per_transaction' }).getByRole('button').click()
  await page.getByRole('heading', { name: 'Edit fee limit per transaction' }).waitFor()
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
    .getByText(/^Relayers use it: .*; delete them first\.$/)
    .waitFor()
  await named(page.getByRole('dialog'), 'Close').click()
  await choose(page, 'spare', 'Delete')
  await confirm(page)
  await page.locator('.toast').getByText('Network spare is deleted.').waitFor()
})

test('names the fields that are empty or wrong before anything is sent, and goes to the first of them', async () => {
  const { page, open } = await start()
  const dialog = page.getByRole('dialog')
  const sent: string[] = []
  page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()))
  await open('/networks')
  await named(page, 'Add a network').click()
  await dialog.getByLabel('Explorer URL').fill('no url')
  await confirm(page)
  await fault(dialog, 'Name').getByText('This field is required.').waitFor()
  await fault(dialog, 'Chain ID').getByText('This field is required.').waitFor()
  await fault(dialog, 'Explorer URL').getByText('Enter a URL').waitFor()
  expect(await page.evaluate('document.activeElement.name')).toBe('name')
  // What is typed is no longer wrong, until it is checked again.
  await dialog.getByLabel('Name').fill('mine')
  expect(await fault(dialog, 'Name').count()).toBe(0)
  await dialog.getByLabel('Chain ID').fill('one')
  await confirm(page)
  await fault(dialog, 'Chain ID').getByText('Enter a whole number, such as 12.').waitFor()
  expect(await page.evaluate('document.activeElement.name')).toBe('chain_id')
  expect(sent).toEqual([])
  await named(dialog, 'Close').click()
  await open('/keys')
  await page.locator('.nothing').getByRole('button', { name: 'Create an API key' }).click()
  await dialog.getByLabel('Name').fill('nothing')
  await dialog.getByLabel('read').uncheck()
  await confirm(page)
  await dialog.locator('fieldset .fault').getByText('Choose at least one scope.').waitFor()
  await dialog.getByLabel('read').check()
  await confirm(page)
  await dialog.locator('fieldset .fault').getByText('Choose every relayer, some relayers or a pool.').waitFor()
})

test('shows that an action runs, runs it once, and says with a link what it did', async () => {
  const { page, open } = await start()
  const dialog = page.getByRole('dialog')
  const answered = Promise.withResolvers<void>()
  let asked = 0
  await page.route('**/api/v1/pools', async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    asked += 1
    await answered.promise
    await route.continue()
  })
  await open('/pools')
  await page.locator('.nothing').getByRole('button', { name: 'Create a pool' }).click()
  await dialog.getByLabel('ID').fill('one-member')
  await dialog.getByLabel('Network').selectOption('local')
  await dialog.getByRole('group', { name: 'Relayers' }).getByLabel('demo', { exact: true }).check()
  const create = dialog.locator('button[type=submit]')
  await create.dblclick()
  await dialog.locator('button[aria-busy=true]').waitFor()
  await create.click()
  answered.resolve()
  await page.locator('.toast').getByRole('link', { name: 'one-member' }).click()
  await page.getByRole('heading', { name: 'one-member' }).waitFor()
  expect(asked).toBe(1)
})
