import { expect, test } from 'vitest'
import { named, openConsole, startStage } from './browser.ts'
import { field, find, results } from './find.ts'

const stage = startStage()

async function start() {
  const opened = await openConsole(stage.browser, stage.rig.url())
  await opened.signIn(stage.rig.api_key)
  return opened
}

test('keeps what is typed right after Ctrl-K on a new page, also while the search is loaded', async () => {
  const { page } = await start()
  const loaded = Promise.withResolvers<void>()
  await page.route('**/palette-*.js', async (route) => {
    await loaded.promise
    await route.continue()
  })
  await page.keyboard.press('Control+k')
  await page.keyboard.type('spe')
  expect(await field(page).inputValue()).toBe('spe')
  loaded.resolve()
  await results(page).first().waitFor()
  await page.keyboard.type('nd')
  expect(await field(page).inputValue()).toBe('spend')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Spending' }).waitFor()
})

test('shows a transaction by its reference, place and state, for the beginning of its reference or hash', async () => {
  const account = await stage.rig.addAccount()
  const [sent] = await account.send(1, { reference: 'order-4800-a' })
  await account.finished()
  const { data: done } = await stage.rig.client().get('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
    path: { relayer_id: account.relayer_id, transaction_id: `${sent?.id}` },
  })
  const { page } = await start()
  const startOfHash = `${done.hash}`.slice(0, 14)
  const details = {
    'order-4800': `${account.relayer_id} · nonce 0`,
    [startOfHash]: `hash ${startOfHash}…${done.hash?.slice(-4)}`,
  }
  for (const [text, detail] of Object.entries(details)) {
    await find(page, text)
    const its = results(page).filter({ hasText: 'order-4800-a' })
    await its.getByText('confirmed', { exact: true }).waitFor()
    await its.getByText(detail).waitFor()
    await its.getByText(/^[\d,.< ]+ ETH$/).waitFor()
    await its.getByText('transaction', { exact: true }).waitFor()
    expect(await its.locator('b').textContent()).toBe(text)
    await page.keyboard.press('Escape')
  }
})

test('opens again by Ctrl-K while it still closes', async () => {
  const { page } = await start()
  await find(page, 'nothing')
  await page.getByText('Nothing found for “nothing”.').waitFor()
  // Both keys before the next frame, in which a dialog that closes is removed.
  const wasThere = await page.evaluate<boolean>(`(async () => {
    const type = (target, init) => target.dispatchEvent(new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...init }))
    type(document.activeElement, { key: 'Escape' })
    await null
    const isThere = document.querySelector('.palette') !== null
    type(document.body, { key: 'k', ctrlKey: true })
    return isThere
  })()`)
  expect(wasThere).toBe(true)
  await page.keyboard.type('spend')
  await results(page).getByText('Spending').waitFor()
  expect(await field(page).inputValue()).toBe('spend')
})

test('finds pages, forms and lists, and says that nothing is found only then', async () => {
  const { page } = await start()
  await find(page, 'spend')
  await results(page).getByText('Spending').waitFor()
  await page.waitForResponse(/search\?q=spend/)
  expect(await page.getByText('Nothing found').count()).toBe(0)
  await field(page).fill('create netw')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Add a network' }).getByLabel('Name').waitFor()

  // A dialog that is open keeps what was typed in it.
  await page.getByLabel('Name').fill('mine')
  await page.keyboard.press('Control+k')
  expect(await page.getByRole('dialog').count()).toBe(1)
  expect(await page.getByLabel('Name').inputValue()).toBe('mine')
  await named(page, 'Close').click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })

  await find(page, 'failed')
  await results(page).getByText('failed transactions').click()
  await page.waitForURL(/#\/transactions\/failed$/)
  for (const text of ['stuck', 'speed up']) {
    await find(page, text)
    await results(page).getByText('Unfinished transactions').waitFor()
    await page.keyboard.press('Escape')
  }
  await find(page, 'create relayer')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Create a relayer' }).getByLabel('ID').waitFor()
})

test('leads to the relayers, and marks them in the navigation', async () => {
  const { page, open } = await start()
  const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Relayers' })
  await link.click()
  await page.getByRole('heading', { name: 'Relayers', level: 1 }).waitFor()
  await page.getByRole('table').getByText('demo').waitFor()
  await open('/relayers/demo')
  await page.getByRole('heading', { name: 'demo' }).waitFor()
  expect(await link.getAttribute('aria-current')).toBe('page')
})

test('finds transactions by their nonce, and leads to all with a reference', async () => {
  const account = await stage.rig.addAccount()
  await account.send(3, { reference: 'batch-77' })
  await account.finished()
  const { page } = await start()
  await find(page, 'nonce 2')
  await results(page).getByText(`${account.relayer_id} · nonce 2`).waitFor()
  expect(await results(page).filter({ hasText: 'nonce' }).count()).toBe(1)
  for (const text of [`${account.relayer_id} nonce 1`, `${account.relayer_id} · nonce 1`, `${account.relayer_id} #1`]) {
    await field(page).fill(text)
    await results(page).getByText(`${account.relayer_id} · nonce 1`).waitFor()
    expect(await results(page).count()).toBe(1)
  }
  await field(page).fill('batch-77')
  const all = results(page).filter({ hasText: 'All transactions with batch-77' })
  await all.waitFor()
  expect(await results(page).last().textContent()).toContain('All transactions with batch-77')
  await all.click()
  await page.getByText('3 transactions, newest first').waitFor()
})

test('says what can be searched where nothing is found, and finds pools by their beginning', async () => {
  const body = { id: 'morning-shift', network: 'local', relayer_ids: ['demo'] }
  await stage.rig.client().post('/api/v1/pools', { body })
  const { page } = await start()
  await find(page, 'no such thing')
  await page.getByText('Nothing found for “no such thing”.').waitFor()
  await page.getByText(/Transactions are found by ID, hash, nonce/).waitFor()
  await field(page).fill('morn')
  await page.getByRole('option', { name: 'morning-shift' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'morning-shift' }).waitFor()
})

test('works with the keyboard: chooses by arrows, switches the zone, and signs out', async () => {
  const { page } = await openConsole(stage.browser, stage.rig.url(), { zone: 'Europe/Berlin' }).then(async (its) => {
    await its.signIn(stage.rig.api_key)
    return its
  })
  await find(page, 'transactions')
  await page.getByRole('option', { name: /^Unfinished transactions/ }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForURL(/#\/transactions\/unfinished$/)
  await find(page, 'times in utc')
  await page.getByRole('option', { name: /Show times in UTC/ }).waitFor()
  await page.keyboard.press('Enter')
  const zones = page.getByRole('group', { name: 'Time zone' })
  await zones.getByRole('button', { name: 'UTC', pressed: true }).waitFor()
  await find(page, 'sign out')
  await page.getByRole('option', { name: /Sign out/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByLabel('API key').waitFor()
})
