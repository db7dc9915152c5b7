import { expect, test } from 'vitest'
import { act, named, openConsole, startStage } from './browser.ts'

const stage = startStage()
const wei = 10n ** 18n

test('sets, shows, changes and removes the budget of an API key', async () => {
  const { rig } = stage
  const client = rig.client()
  const account = await rig.addAccount()
  const { api_key, token } = await client.apiKeys.create({ name: 'agent', scopes: ['sign', 'send', 'read'] })
  const { page, signIn, open, accessibilityFaults, picture, expectComplaint } = await openConsole(
    stage.browser,
    rig.url(),
  )
  expectComplaint(/status of 412/)
  await signIn(rig.api_key)
  await open('/keys')
  await page.getByRole('link', { name: 'agent', exact: true }).click()
  await page.getByRole('heading', { name: 'No budget' }).waitFor()
  const budget = async () => (await client.apiKeys.get(api_key.id)).budget
  await act(page, named(page, 'Set a budget'), async (dialog) => {
    await dialog.getByLabel('Coins in 24 h').fill('0.5')
    await dialog.getByLabel('Coins per transaction').fill('0.2')
    await dialog.getByLabel('Tokens').fill(`0x${'56'.repeat(20)}`)
    await dialog.getByLabel('Limit in 24 h 1').fill('100')
    await dialog.getByLabel('Transactions and signatures').fill('20')
    await dialog.getByLabel('Receivers').fill(account.address)
  })
  const asset = { asset: 'coin', max_amount_per_transaction: `${wei / 5n}`, max_amount_per_day: `${wei / 2n}` }
  const other = { asset: `0x${'56'.repeat(20)}`, max_amount_per_transaction: null, max_amount_per_day: '100' }
  const rest = { max_fee_per_day: null, max_transactions_per_hour: 20, receivers: [account.address.toLowerCase()] }
  expect(await budget()).toEqual({ assets: [asset, other], ...rest })

  const body = { to: account.address, value: `${wei / 10n}`, gas_limit: 21_000, data: '0x', speed: 'fast' as const }
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  const sent = await fetch(`${rig.url()}/api/v1/relayers/${account.relayer_id}/transactions`, {
    ...{ method: 'POST', headers, body: JSON.stringify(body) },
  })
  expect(sent.status).toBe(201)
  const row = page.getByRole('row').filter({ hasText: 'Coins' })
  await row.getByText('0.4 ETH').waitFor()
  expect(await row.textContent()).toContain('0.1 ETH')
  await page.getByRole('row').filter({ hasText: 'signatures' }).getByText('19').waitFor()
  expect(await accessibilityFaults()).toEqual([])
  await picture('budget')

  // Somebody else changes it while the dialog is open.
  const dialog = page.getByRole('dialog')
  await named(page, 'Edit budget').click()
  await client.apiKeys.update(api_key.id, { budget: { max_transactions_per_hour: 30 } }, { revision: '*' })
  await dialog.getByText('Somebody has changed this').waitFor()
  expect(await dialog.locator('li').allTextContents()).toEqual(['Budget, max transactions per hour: 20 → 30'])
  expect(await dialog.locator('button[type=submit]').isDisabled()).toBe(true)
  await named(dialog, 'Begin again with these').click()
  expect(await dialog.getByLabel('Transactions and signatures').inputValue()).toBe('30')
  await dialog.getByLabel('Coins in 24 h').fill('1')
  await dialog.locator('button[type=submit]').click()
  await row.getByText('0.9 ETH').waitFor()
  expect(await budget()).toMatchObject({
    max_transactions_per_hour: 30,
    assets: [{ max_amount_per_day: `${wei}` }, other],
  })

  await act(page, named(page, 'Remove budget'))
  await page.getByRole('heading', { name: 'No budget' }).waitFor()
  expect(await budget()).toBeNull()
})
