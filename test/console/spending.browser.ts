import { expect, test } from 'vitest'
import { exactly } from '../../client/console/data/format.ts'
import { createRelayerClient } from '../../client/index.ts'
import { act, choose, named, openConsole, startStage } from './browser.ts'

const list = '/api/v1/relayers/{relayer_id}/transactions'
const stage = startStage({ chain: { noMining: true } })

test('shows what each API key spent, and what repricing added', async () => {
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url())
  const client = stage.rig.client()
  const account = await stage.rig.addAccount()
  const path = { relayer_id: account.relayer_id }
  const body = { to: account.address, value: '1', gas_limit: 21_000 }
  const key = (await client.post('/api/v1/api-keys', { body: { name: 'shop', scopes: ['send', 'read'] } })).data
  const shop = createRelayerClient({ baseUrl: stage.rig.url(), token: key.token })
  const sent = await shop.post(list, { path, query: { wait: 'submitted' }, body: { ...body, speed: 'safe_low' } })
  const one = { ...path, transaction_id: sent.data.id }
  await client.put(`${list}/{transaction_id}`, { path: one, body: { ...body, speed: 'fastest' } })
  const accepted = async () =>
    (await client.get(`${list}/{transaction_id}/attempts`, { path: one })).data.filter((its) => its.accepted_at).length
  await expect.poll(accepted).toBe(2)
  await account.finished(() => stage.rig.chain.mine())

  await signIn(stage.rig.api_key)
  await open('/spending')
  await page.getByText(/Repricing on local: 1 of 1 transactions/).waitFor()
  expect(await page.locator('.sums').count(), 'one row needs no sum').toBe(0)
  await page.getByRole('button', { name: 'By API key' }).click()
  await page.getByRole('row', { name: /shop local 1 0\.0/ }).waitFor()
  const saved = page.waitForEvent('download')
  await act(page, named(page, 'Download CSV'), (dialog) => dialog.getByLabel('Rows').selectOption('by API key and day'))
  const file = await (await saved).createReadStream()
  const lines = Buffer.concat(await file.toArray())
    .toString()
    .split('\r\n')
  expect(lines[0]).toBe('"day","caller","name","network","fees","symbol","decimals"')
  expect(lines[1]).toContain(`"${key.api_key.id}","shop","local",`)

  // Who sent it leads to the page of its key, from the transaction, its timeline and the audit trail.
  const links = page.locator(`#content a[href$="/keys/${key.api_key.id}"]`)
  await open(`/relayers/${account.relayer_id}/transactions/${sent.data.id}`)
  await expect.poll(() => links.allTextContents()).toEqual(['shop', 'shop'])
  await open('/audit')
  await expect.poll(() => links.first().textContent()).toBe('shop')
})

test('adds up what relayers of one currency spent', async () => {
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url())
  for (const account of [await stage.rig.addAccount(), await stage.rig.addAccount()]) {
    await account.send(2)
    await account.finished(() => stage.rig.chain.mine())
  }
  const { data } = await stage.rig.client().get('/api/v1/spending', { query: { days: 30 } })
  const fees = data.reduce((sum, row) => sum + BigInt(row.fees), 0n)
  await signIn(stage.rig.api_key)
  await open('/spending')
  const cells = page.locator('.sums td')
  await cells
    .first()
    .getByText(/^All \d+ relayers in ETH/)
    .waitFor()
  expect(await cells.locator('[title]').first().getAttribute('title')).toBe(`${exactly(`${fees}`)} ETH`)
  expect(await cells.nth(1).textContent()).toBe(`${data.reduce((sum, { mined }) => sum + mined, 0)}`)

  const months = await page.getByLabel('Calendar month').locator('option').allTextContents()
  expect(months).toHaveLength(4)
  await page.getByLabel('Calendar month').selectOption(months[1] as string)
  await cells
    .first()
    .getByText(/^All \d+ relayers in ETH/)
    .waitFor()
  await page.getByLabel('Calendar month').selectOption(months[2] as string)
  await page.getByText(`No fees in ${months[2]} (UTC)`).waitFor()
  await named(page, '7 d').click()
  await cells
    .first()
    .getByText(/^All \d+ relayers in ETH/)
    .waitFor()
})

test('says on a card that the fees could not be loaded, and loads them again', async () => {
  const { page, signIn, open, expectComplaint } = await openConsole(stage.browser, stage.rig.url())
  expectComplaint(/status of 503/)
  const account = await stage.rig.addAccount()
  await account.send(1)
  await account.finished(() => stage.rig.chain.mine())
  await page.route('**/api/v1/activity**', (route) => route.fulfill({ status: 503, body: '{}' }))
  await signIn(stage.rig.api_key)
  await open('/spending')
  await page.getByRole('figure').getByText('Fees could not be loaded').waitFor()
  await page.unroute('**/api/v1/activity**')
  await named(page, 'Retry').click()
  await page.getByRole('img', { name: /Fees on local/ }).waitFor()
})

test('changes the name, the notifications and the nodes of a relayer, and deletes it', async () => {
  const { page, signIn, open, expectComplaint } = await openConsole(stage.browser, stage.rig.url())
  // What was deleted is asked for until its page is left.
  expectComplaint(/status of 404/)
  const client = stage.rig.client()
  const { relayer_id } = await stage.rig.addAccount()
  const path = { relayer_id }
  const read = async () => (await client.get('/api/v1/relayers/{relayer_id}', { path })).data
  for (const id of ['one', 'two'])
    await client.post('/api/v1/notifications', { body: { id, url: stage.rig.proxy.url } })
  await signIn(stage.rig.api_key)
  await open(`/relayers/${relayer_id}`)
  await act(page, named(page, 'Edit'), async (dialog) => {
    await dialog.getByLabel('Name').fill('Payouts')
    for (const id of ['one', 'two']) await dialog.getByRole('checkbox', { name: id, exact: true }).check()
    await dialog.getByLabel(/^Nodes/).selectOption('others of its own')
    await dialog.getByLabel(/^Node URLs/).fill(stage.rig.proxy.url)
  })
  await page.getByText(', own nodes').waitFor()
  expect(await read()).toMatchObject({ name: 'Payouts', notification_ids: ['one', 'two'], custom_rpc_urls: [{}] })
  await act(page, named(page, 'Edit'), (dialog) => dialog.getByLabel(/^Nodes/).selectOption('those of the network'))
  await page.getByText(', own nodes').waitFor({ state: 'detached' })
  expect(await read()).toMatchObject({ name: 'Payouts', custom_rpc_urls: [] })

  await choose(page, relayer_id, 'Delete')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel(/^Type its ID/).fill('another')
  expect(await dialog.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true)
  await dialog.getByText(`The button works when this is exactly ${relayer_id}.`).waitFor()
  await dialog.getByLabel(/^Type its ID/).fill(relayer_id)
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText(`${relayer_id} is deleted`).first().waitFor()
  await expect(read()).rejects.toMatchObject({ status: 404 })

  await open('/notifications/two')
  await choose(page, 'two', 'Delete')
  await dialog.locator('button[type=submit]').click()
  await page.getByText('two is deleted').first().waitFor()
})
