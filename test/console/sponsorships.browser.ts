import { expect, onTestFinished, test } from 'vitest'
import { createRelayerClient } from '../../client/index.ts'
import { play, sponsoredRig } from '../support/sponsorship.ts'
import { act, named, openConsole } from './browser.ts'
import { startBrowser } from './start-browser.ts'

test('shows what budgets have left, and creates, pauses, changes and deletes sponsorships', async () => {
  const its = await sponsoredRig({ max_fee_per_call: '1000000000000000', max_fee_per_day: '10000000000000000' })
  const { rig, client, game, relayer } = its
  const browser = await startBrowser()
  onTestFinished(() => browser.close())
  const { page, signIn, open, accessibilityFaults, picture } = await openConsole(browser, rig.url())
  await signIn(rig.api_key)
  await open('/sponsorships')
  const row = page.getByRole('row').filter({ hasText: 'game' })
  await row.getByText(relayer.id).waitFor()
  await expect.poll(() => row.textContent()).toContain('0.01 ')

  await act(page, named(row, 'Edit'), async (dialog) => dialog.getByLabel('For 24 h').fill('0.5'))
  await expect.poll(() => row.textContent()).toContain('0.5 ')
  await named(row, 'More actions of game').click()
  await act(page, page.getByRole('menuitem', { name: 'Pause' }))
  await row.getByText('paused').waitFor()
  expect((await client.sponsorships.get('game')).paused).toBe(true)

  await act(page, named(page, 'Create a sponsorship'), async (dialog) => {
    await dialog.getByLabel('ID (optional)').fill('shop')
    await dialog.getByLabel('Sent by').selectOption(`relayer ${relayer.id}`)
    await dialog.getByLabel('Contract').fill(game)
    await dialog.getByLabel('Selectors').fill(play(1).slice(0, 10))
    await dialog.getByLabel('Fee limit').fill('0.001')
    await dialog.getByLabel('Budget for 24 h').fill('1')
    await dialog.getByLabel('Pages that may call it').fill('https://shop.example')
  })
  const token = (await page.getByRole('dialog').locator('code').textContent()) ?? ''
  const calls = createRelayerClient({ baseUrl: rig.url(), token })
  expect((await calls.sponsorships.sendSponsoredCall('shop', { to: game, data: play(1) })).status).toBe('pending')
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
  const shop = page.getByRole('row').filter({ hasText: 'shop' })
  await shop.waitFor()
  expect(await accessibilityFaults()).toEqual([])
  await picture('sponsorships')
  await named(shop, 'More actions of shop').click()
  await act(page, page.getByRole('menuitem', { name: 'Delete' }))
  await expect.poll(() => shop.count()).toBe(0)
})
