import { expect, test } from 'vitest'
import { named, openConsole, startStage } from './browser.ts'

const stage = startStage()

async function start() {
  const opened = await openConsole(stage.browser, stage.rig.url())
  opened.expectComplaint(/status of 404/)
  await opened.signIn(stage.rig.api_key)
  return opened
}

test('says of an unknown thing that it is not found, and leads to those that there are', async () => {
  const { page, open } = await start()
  const unknown = {
    '/relayers/nope': ['Relayer nope not found', 'Go to the relayers', '/relayer-list'],
    '/pools/nope': ['Pool nope not found', 'Go to the pools', '/pools'],
    '/notifications/nope': ['Notification nope not found', 'Go to the notifications', '/notifications'],
    '/relayers/demo/transactions/nope': ['Transaction not found', 'Go to the transactions', '/transactions'],
    '/nope': ['Page not found', 'Go to the overview', '/'],
  }
  for (const [path, [heading = '', link = '', to = '']] of Object.entries(unknown)) {
    await open(path)
    await page.getByRole('heading', { name: heading, exact: true }).waitFor()
    expect(await page.locator('main .callout').count()).toBe(0)
    await page.getByRole('link', { name: link }).click()
    await page.waitForURL((url) => url.hash === `#${to}`)
  }
})

test('keeps the console when a page cannot be loaded, and shows the next one', async () => {
  const { page, open, expectComplaint } = await start()
  expectComplaint(/ERR_FAILED|Failed to fetch/)
  await page.route(/assets\/signers-/, (route) => route.abort())
  await open('/signers')
  await page.getByText('This part of the console could not be loaded.').waitFor()
  await page.getByRole('link', { name: 'Networks', exact: true }).click()
  await page.getByRole('heading', { name: 'Networks', exact: true }).waitFor()
  await open('/relayers')
  await page.getByRole('heading', { name: 'Relayers', exact: true }).waitFor()
})

test('links no relayer that was deleted', async () => {
  const client = stage.rig.client()
  const body = { id: 'gone', name: 'gone', network: 'local', network_type: 'evm', paused: false } as const
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  await client.post('/api/v1/relayers', { body: { ...body, signer_id: signer.id } })
  await client.delete('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'gone' } })
  const { page, open } = await start()
  await open('/audit')
  const row = page.getByRole('row').filter({ hasText: 'Delete relayer' })
  await row.getByText('gone').first().waitFor()
  await expect.poll(() => row.getByRole('link', { name: 'gone' }).count()).toBe(0)
})

test('has the button that creates the first one in an empty list', async () => {
  const { page, open } = await start()
  for (const [path, label] of [
    ['/pools', 'Create a pool'],
    ['/keys', 'Create an API key'],
    ['/networks', 'Add an ABI'],
  ] as const) {
    await open(path)
    await page.locator('.nothing').getByRole('button', { name: label }).click()
    await page.getByRole('dialog', { name: label }).waitFor()
    await named(page.getByRole('dialog'), 'Close').click()
  }
})
