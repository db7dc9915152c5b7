import { expect, test } from 'vitest'
import { openConsole, startStage } from './browser.ts'

const stage = startStage()

test('ticks what is done, and has the next step as its only button, up to the first transaction', async () => {
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url())
  await signIn(stage.rig.api_key)
  const steps = page.getByRole('region', { name: 'First steps' })
  const next = steps.locator('[aria-current=step]')
  await next.getByText('Fund it').waitFor()
  expect(await steps.locator('.met strong').allTextContents()).toEqual([
    'Add a network: done',
    'Create a relayer: done',
  ])
  expect(await steps.locator('.primary:visible').allTextContents()).toEqual(['Open demo'])

  const client = stage.rig.client()
  const path = { relayer_id: 'demo' }
  const { data } = await client.get('/api/v1/relayers/{relayer_id}', { path })
  await stage.rig.chain.setBalance(data.address, 10n ** 18n)
  await next.getByText('Send a transaction').first().waitFor()
  await steps.getByRole('link', { name: 'Send a transaction' }).click()
  await page.waitForURL(/#\/sandbox\/demo$/)

  await open('/spending')
  await page.locator('.nothing').getByRole('link', { name: 'Send a transaction' }).waitFor()
  const body = { to: data.address, value: '1' }
  await client.post('/api/v1/relayers/{relayer_id}/transactions', { path, body, query: { wait: 'confirmed' } })
  await open('/')
  await page.getByText('Succeeded, 24 h').waitFor()
  await expect.poll(() => steps.count()).toBe(0)
})
