import { getAddress } from 'ethers'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { choose, named, openConsole, press, startStage } from './browser.ts'

const stage = startStage()

/** Opens the dialog of a button, fills its fields and confirms. Returns the dialog. */
async function fill(page: Page | Locator, button: string, fields: Record<string, string>, dialogs: Page) {
  await press(named(page, button))
  const dialog = dialogs.getByRole('dialog')
  for (const [label, value] of Object.entries(fields)) {
    const group = dialog.getByRole('group', { name: new RegExp(`^${label}`) })
    if ((await group.getByRole('checkbox').count()) > 0) {
      for (const one of value.split('\n')) await group.getByLabel(one, { exact: true }).check()
      continue
    }
    const field = dialog.getByLabel(new RegExp(`^${label}`))
    if ((await field.evaluate((its) => its.tagName)) === 'SELECT') await field.selectOption(value)
    else await field.fill(value)
  }
  await dialog.locator('button[type=submit]').click()
  return dialog
}

test('creates a network, a signer, a relayer and an ABI, drains the relayer, and deletes what is not used', async () => {
  const { page, signIn, open, expectComplaint } = await openConsole(stage.browser, stage.rig.url())
  expectComplaint(/status of 409/)
  await signIn(stage.rig.api_key)
  const client = stage.rig.client()

  await open('/networks')
  const network = { Name: 'second', 'Chain ID': '31337', 'Node URLs': stage.rig.proxy.url, 'Currency symbol': 'POL' }
  await (await fill(page, 'Add a network', network, page)).getByText('its nodes answer').waitFor()
  await page.keyboard.press('Escape')
  const card = page.getByRole('region', { name: 'second' })
  await card.getByText('POL').waitFor()
  await fill(card, 'Edit', { 'Required confirmations': '7' }, page)
  await card.locator('dd', { hasText: '7' }).first().waitFor()

  await open('/signers')
  const key = `0x${'5a'.repeat(32)}`
  await fill(page, 'Create a signer', { Type: 'plain', ID: 'own-key', key }, page)
  await page.getByRole('dialog').getByText('Its address').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('cell', { name: 'own-key', exact: true }).waitFor()
  expect(await page.content()).not.toContain(key.slice(2))

  await open('/')
  const to = (await stage.rig.addAccount()).address
  const relayer = { ID: 'made-here', Network: 'second', Signer: 'own-key', 'Allowed receivers': to }
  await (await fill(page, 'Create a relayer', relayer, page)).getByText('Send funds to its address').waitFor()
  const path = { relayer_id: 'made-here' }
  const { data: made } = await client.get('/api/v1/relayers/{relayer_id}', { path })
  expect(made).toMatchObject({ network: 'second', signer_id: 'own-key', policies: { whitelist_receivers: [to] } })
  await page.keyboard.press('Escape')

  await open('/networks')
  const abi = { Network: 'second', Address: to, Name: 'Token', ABI: 'function mint(uint256 amount)' }
  await fill(page, 'Add an ABI', abi, page)
  await page.getByRole('cell', { name: 'Token', exact: true }).waitFor()

  await open('/relayers/made-here')
  await fill(page, 'Drain', {}, page)
  await page.locator('.toast').getByText('it can be deleted').waitFor()
  const { data: drained } = await client.get('/api/v1/relayers/{relayer_id}', { path })
  expect(drained.policies).toMatchObject({ allow_transactions: false })
  await page.keyboard.press('Escape')

  await open('/signers')
  const row = page.getByRole('row', { name: /own-key/ })
  await choose(page, 'own-key', 'Delete')
  const deletion = page.getByRole('dialog')
  await deletion.getByLabel('Type its ID').fill('own-key')
  await deletion.locator('button[type=submit]').click()
  await deletion
    .getByRole('alert')
    .getByText(/made-here/)
    .waitFor()
  await client.delete('/api/v1/relayers/{relayer_id}', { path })
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await row.waitFor({ state: 'detached' })
})

test('a new key that failed to get its relayer is used at the next attempt', async () => {
  const { page, signIn, open, expectComplaint } = await openConsole(stage.browser, stage.rig.url())
  expectComplaint(/status of 4/)
  await signIn(stage.rig.api_key)
  await open('/')
  const client = stage.rig.client()
  const before = (await client.get('/api/v1/signers', { query: { per_page: 1000 } })).data.length
  const fields = { ID: 'with new key', Network: 'local', 'Allowed receivers': '0x12' }
  const dialog = await fill(page, 'Create a relayer', fields, page)
  await dialog.getByRole('alert').first().waitFor()
  await dialog.getByLabel('ID').fill('with-new-key')
  await dialog.getByLabel('Allowed receivers').fill('')
  await dialog.getByRole('button', { name: 'Create a relayer' }).click()
  await dialog.getByText('Send funds to its address').waitFor()
  expect((await client.get('/api/v1/signers', { query: { per_page: 1000 } })).data).toHaveLength(before + 1)
})

test('sets up the refills of a relayer, shows them, and keeps a pool', async () => {
  const { page, signIn, open, expectComplaint } = await openConsole(stage.browser, stage.rig.url())
  await signIn(stage.rig.api_key)
  const client = stage.rig.client()
  const [treasury, poor] = [await stage.rig.addAccount(), await stage.rig.addAccount()]
  await stage.rig.chain.setBalance(poor.address, 0n)

  await open(`/relayers/${poor.relayer_id}/funding`)
  const amounts = { Minimum: '0.5', Target: '2', 'Limit per day': '5', 'Gas price limit': '100' }
  await fill(page, 'Set up refills', { Treasury: treasury.relayer_id, ...amounts }, page)
  await page.getByText('sufficient').waitFor()
  await page.getByRole('link', { name: 'done' }).waitFor()
  expect(await page.getByText('Refilled from').textContent()).toContain(treasury.relayer_id)
  await fill(page, 'Edit refills', { Minimum: '3', Target: '4', 'Limit per day': '3' }, page)
  await page.getByText('limit reached').waitFor()
  await open('/')
  await page.getByRole('link', { name: /is not being refilled/ }).click()
  await page.getByText(/above the remaining .* of the daily limit/).waitFor()

  await open('/pools')
  const pool = {
    ID: 'made-here',
    Network: 'local',
    Relayers: `${treasury.relayer_id}\n${poor.relayer_id}`,
    'Value limit': '7',
  }
  await fill(page, 'Create a pool', pool, page)
  await page.getByText('at most 7').waitFor()
  await page.getByRole('table').getByRole('link', { name: 'made-here' }).click()
  await page.getByRole('navigation', { name: 'Pool pages' }).getByRole('link', { name: 'relayers' }).click()
  const row = page.getByRole('row', { name: new RegExp(poor.relayer_id) })
  await fill(row, 'Edit', { Weight: '0' }, page)
  await row.getByText('0 (gets none)').waitFor()
  await fill(page, 'Edit', { 'Value limit': '', Name: 'Payouts' }, page)
  await page.getByText('none', { exact: true }).waitFor()
  const path = { pool_id: 'made-here' }
  expect((await client.get('/api/v1/pools/{pool_id}', { path })).data).toMatchObject({
    name: 'Payouts',
    policies: {},
    relayers: [{ weight: 100 }, { weight: 0 }],
  })
  await page.getByRole('link', { name: 'funding' }).click()
  const third = await stage.rig.addAccount()
  await page.reload()
  await fill(page, 'Set up refills', { Treasury: third.relayer_id, ...amounts }, page)
  await page.getByText('Refilled from').waitFor()
  await page.getByRole('listitem').filter({ hasText: treasury.relayer_id }).getByText('sufficient').waitFor()
  // It is asked for once more, before the pool says that it has none.
  expectComplaint(/status of 404/)
  await fill(page, 'Stop refills', {}, page)
  await page.getByText('No other relayer refills each relayer of made-here').waitFor()
  await choose(page, 'made-here', 'Delete')
  await page.getByRole('dialog').locator('button[type=submit]').click()
  await page.getByText('No pools yet').waitFor()
})

test('links transactions and addresses to the explorer of the network', async () => {
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url())
  await signIn(stage.rig.api_key)
  const path = { network_id: 'evm:local' }
  const body = { explorer_urls: ['https://explorer.example/'] }
  await stage.rig.client().patch('/api/v1/networks/{network_id}', { path, body })
  const account = await stage.rig.addAccount()
  await account.send(1)
  await account.finished()
  const [sent] = await account.transactions()
  await open(`/relayers/${account.relayer_id}/transactions/${sent?.id}`)
  const link = (name: string) =>
    page
      .getByRole('region', { name: 'Content' })
      .getByRole('link', { name: `${name} in the explorer` })
      .getAttribute('href')
  expect(await link('Transaction')).toBe(`https://explorer.example/tx/${sent?.hash}`)
  expect(await link('Receiver')).toBe(`https://explorer.example/address/${getAddress(sent?.to ?? '')}`)
})
