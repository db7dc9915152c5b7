import { expect, test } from 'vitest'
import { named, openConsole, startStage } from './browser.ts'
import { field, find, results } from './find.ts'

const stage = startStage()

async function start() {
  const opened = await openConsole(stage.browser, stage.rig.url())
  await opened.signIn(stage.rig.api_key)
  return opened
}

test('does what is typed with what is named, after its dialog', async () => {
  const account = await stage.rig.addAccount()
  const { page, expectComplaint } = await start()
  // It has no funding yet.
  expectComplaint(/404/)
  await find(page, 'pause')
  await results(page).filter({ hasText: 'Pause demo' }).waitFor()
  await results(page)
    .filter({ hasText: `Pause ${account.relayer_id}` })
    .first()
    .waitFor()
  await field(page).fill('pause demo')
  await expect.poll(() => results(page).count()).toBe(1)
  await page.keyboard.press('Enter')
  const pause = page.getByRole('dialog', { name: 'Pause relayer demo' })
  await pause.waitFor()
  const get = () => stage.rig.client().get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' } })
  expect((await get()).data.paused).toBe(false)
  await named(page, 'Close').click()
  await pause.waitFor({ state: 'detached' })

  await find(page, 'send from demo')
  await results(page).filter({ hasText: 'Send from demo' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Sandbox' }).waitFor()
  expect(await page.getByLabel('Relayer', { exact: true }).inputValue()).toBe('demo')
  await page.getByRole('button', { name: 'Simulate or send', pressed: true }).waitFor()

  await find(page, 'fund demo')
  await results(page).filter({ hasText: 'Fund demo' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Set up refills of demo' }).waitFor()
})

test('shows what can be done with the one that is named, and its state', async () => {
  const { relayer_id } = await stage.rig.addAccount()
  const { page } = await start()
  await find(page, relayer_id)
  await page
    .getByRole('group', { name: `Actions on ${relayer_id}` })
    .getByText(`Drain ${relayer_id}`)
    .waitFor()
  const first = results(page).first()
  expect(await first.textContent()).toContain(relayer_id)
  await first.getByText('active', { exact: true }).waitFor()
  await first.getByText('relayer', { exact: true }).waitFor()
})

test('shows what was opened last, until the key signs out', async () => {
  const account = await stage.rig.addAccount()
  const [sent] = await account.send(1)
  await account.finished()
  const { page, open } = await start()
  await open(`/relayers/${account.relayer_id}/transactions/${sent?.id}`)
  await page.getByRole('heading', { name: `${account.relayer_id} · nonce 0` }).waitFor()
  await open('/relayers/demo')
  // Its heading is there before the relayer is known.
  await page.getByText('Next nonce').waitFor()
  await open('/networks')
  await page.getByRole('heading', { name: 'Networks' }).waitFor()
  await page.keyboard.press('Control+k')
  const recent = page.getByRole('group', { name: 'Recent' }).getByRole('option')
  await recent.first().waitFor()
  expect(await recent.locator('.name').allTextContents()).toEqual(['demo', `${account.relayer_id} · nonce 0`])
  await recent.nth(1).click()
  await page.waitForURL(new RegExp(`${sent?.id}$`))
  expect(await page.evaluate('sessionStorage.opened')).not.toContain(stage.rig.api_key)
  await named(page, 'Sign out').click()
  await page.getByLabel('API key').waitFor()
  expect(await page.evaluate('sessionStorage.opened')).toBe(undefined)
})

test('shows what needs attention before a text is typed', async () => {
  const { relayer_id } = await stage.rig.addAccount()
  await stage.rig.client().patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id }, body: { paused: true } })
  const { page } = await start()
  await page.keyboard.press('Control+k')
  const urgent = page.getByRole('group', { name: 'Needs attention' }).getByRole('option')
  await urgent.filter({ hasText: relayer_id }).click()
  await page.waitForURL(new RegExp(`/relayers/${relayer_id}`))
})

test('opens a result in a new tab by Ctrl-Enter, and gives the focus back', async () => {
  const { page, context } = await start()
  const filter = page.getByLabel(/^Filter by ID/)
  await filter.focus()
  await find(page, 'netw')
  await results(page).getByText('Networks').waitFor()
  const [tab] = await Promise.all([context.waitForEvent('page'), page.keyboard.press('Control+Enter')])
  await tab.getByRole('heading', { name: 'Networks' }).waitFor()
  await page.bringToFront()
  await page.keyboard.press('Escape')
  await expect
    .poll(() => page.locator(':focus').getAttribute('aria-label'))
    .toBe(await filter.getAttribute('aria-label'))
})

test('finds in the list of transactions what the search finds', async () => {
  const account = await stage.rig.addAccount()
  const [sent] = await account.send(2, { reference: 'parcel-9000', to: `0x4fa9${'7c'.repeat(18)}` })
  await account.finished()
  const { page, open } = await start()
  await open('/transactions')
  const filter = page.getByLabel(/^Filter by hash/)
  for (const text of ['parcel-90', '0x4fa97c', account.relayer_id]) {
    await filter.fill(text)
    await page.getByText('2 transactions, newest first').waitFor()
  }
  await filter.fill(`${sent?.id}`)
  await page.getByText('1 transaction', { exact: true }).waitFor()
  await find(page, '0x4fa97c')
  await results(page).getByText('All transactions found by “0x4fa97c”').click()
  await page.getByText('2 transactions, newest first').waitFor()
})

test('is one tap away on a phone, with a line of its own', async () => {
  const { page, open, signIn } = await openConsole(stage.browser, stage.rig.url(), { width: 375 })
  await signIn(stage.rig.api_key)
  await open('/transactions')
  expect((await page.getByLabel(/^Filter by hash/).boundingBox())?.width).toBeGreaterThan(340)
  await named(page, 'Find').tap()
  await page.getByRole('option', { name: /^Networks/ }).waitFor()
  const lines = await results(page).evaluateAll((its) => its.map((one) => one.scrollWidth - one.clientWidth))
  expect(Math.max(...lines)).toBe(0)
})
