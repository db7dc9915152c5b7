import { expect, test } from 'vitest'
import { act, named, openConsole, startStage } from './browser.ts'

const base = '/api/v1/relayers/{relayer_id}'
const attemptsOf = `${base}/transactions/{transaction_id}/attempts` as const
const gwei = 10n ** 9n

const stage = startStage({ chain: { noMining: true } })

async function start(complaint = /status of 503/) {
  const opened = await openConsole(stage.browser, stage.rig.url())
  opened.expectComplaint(complaint)
  await opened.signIn(stage.rig.api_key)
  return opened
}

test('shows what speeding up several costs, and leaves out with its reason what cannot be sped up', async () => {
  const [free, capped] = [await stage.rig.addAccount(), await stage.rig.addAccount()]
  const [sped] = await free.send(1, { gas_limit: 50_000 })
  const [kept] = await capped.send(1, { gas_limit: 50_000 })
  const all = async () => [...(await free.transactions()), ...(await capped.transactions())]
  await expect.poll(async () => (await all()).map(({ status }) => status)).toEqual(['submitted', 'submitted'])
  const price = BigInt(kept?.max_fee_per_gas ?? 0)
  const path = { relayer_id: capped.relayer_id }
  const body = { policies: { gas_price_cap: `${price + 1n}` } }
  await stage.rig.client().patch(base, { path, body })

  const { page, open } = await start()
  await open('/transactions/unfinished')
  await page.getByLabel(`Select ${free.relayer_id} · nonce 0`).check()
  await page.getByLabel(`Select ${capped.relayer_id} · nonce 0`).check()
  await act(page, named(page, 'Speed up selected'), async (dialog) => {
    await dialog.getByRole('heading', { name: 'Speed up 1 transaction' }).waitFor()
    const cells = await dialog.getByRole('row').nth(1).getByRole('cell').allTextContents()
    expect(cells[0]).toBe(`${free.relayer_id} · nonce 0 to 0x${'5a'.repeat(20)}`)
    expect(cells.slice(1)).toEqual([
      expect.stringMatching(/ gwei$/),
      expect.stringMatching(/ gwei$/),
      expect.stringMatching(/ gwei$/),
      expect.stringMatching(/ ETH$/),
    ])
    expect(cells[1]).not.toBe(cells[3])
    await dialog.getByText('More than now on local, at most').waitFor()
    await dialog
      .getByRole('listitem')
      .filter({ hasText: capped.relayer_id })
      .getByText(/the policies allow at most/)
      .waitFor()
  })
  await page.getByText('1 sped up.').waitFor()
  const versions = async (relayerId: string, transactionId = '') =>
    (await stage.rig.client().get(attemptsOf, { path: { relayer_id: relayerId, transaction_id: transactionId } })).data
  await expect.poll(async () => (await versions(free.relayer_id, sped?.id)).length).toBe(2)
  expect(await versions(capped.relayer_id, kept?.id)).toHaveLength(1)
  const [first, second] = await versions(free.relayer_id, sped?.id)
  expect(BigInt(second?.max_fee_per_gas ?? 0) - BigInt(first?.max_fee_per_gas ?? 0)).toBeGreaterThan(0n)
  await stage.rig.client().patch(base, { path, body: { policies: { gas_price_cap: `${1_000n * gwei}` } } })
  await Promise.all([free, capped].map((its) => its.finished(() => stage.rig.chain.mine())))
})

test('shows in amber for how long a transaction waits for a block, after minutes', async () => {
  const its = await stage.rig.addAccount()
  await its.send(1)
  const { page, context, open } = await start()
  await open(`/relayers/${its.relayer_id}`)
  const state = page.locator('.list .state')
  await state.getByText('submitted', { exact: true }).waitFor()
  await context.clock.setFixedTime(Date.now() + 8.5 * 60_000)
  await page.reload()
  await expect.poll(() => state.locator('.badge.warn').textContent()).toBe('submitted, 8 min')
  const overflows =
    'document.querySelector(".list .state").scrollWidth > document.querySelector(".list .state").clientWidth'
  expect(await page.evaluate(overflows)).toBe(false)
  await its.finished(() => stage.rig.chain.mine())
  await state.getByText('confirmed', { exact: true }).waitFor()
})

test('shows the parts of a transaction of one moment only', async () => {
  const account = await stage.rig.addAccount()
  const [sent] = await account.send(1)
  await account.finished(() => stage.rig.chain.mine())
  const { page, open } = await start()
  let asked = 0
  // The first answer is of before it was confirmed.
  await page.route('**/explanation', async (route) => {
    const answer = await route.fetch()
    const whole = await answer.json()
    asked += 1
    if (asked === 1) Object.assign(whole.data, { status: 'submitted', summary: 'Waiting: an old answer.' })
    await route.fulfill({ response: answer, json: whole })
  })
  await open(`/relayers/${account.relayer_id}/transactions/${sent?.id}`)
  const explanation = page.getByRole('region', { name: 'Explanation' })
  await explanation.waitFor()
  expect(await explanation.locator('.summary').textContent()).toMatch(/^Confirmed in block/)
})

test('keeps the heading while a page loads, and says since when a list fails, with a button to load it again', async () => {
  const { page, open } = await start()
  const answered = Promise.withResolvers<void>()
  await page.route('**/api/v1/relayers/demo', async (route) => {
    await answered.promise
    await route.continue()
  })
  await open('/relayers/demo')
  await page.getByRole('heading', { name: 'demo' }).waitFor()
  await page.locator('.skeleton.tiles').first().waitFor()
  answered.resolve()
  await page.getByText('Next nonce').waitFor()

  // Nothing asks for them again by itself.
  await page.route('**/api/v1/api-keys?**', (route) => route.fulfill({ status: 503, body: '{}' }))
  await open('/keys')
  const failing = page.getByRole('alert').filter({ hasText: 'Loading has failed since' })
  await failing.waitFor()
  await page.unroute('**/api/v1/api-keys?**')
  await named(failing, 'Retry').click()
  await page.getByText('No API keys yet').waitFor()
  expect(await failing.count()).toBe(0)
})

test('keeps what was typed in a dialog whose request was refused, and says why above its buttons', async () => {
  const { page, open } = await start(/status of 400/)
  await open('/sandbox/demo')
  await named(page, 'Simulate or send').click()
  await page.getByLabel('To (empty').fill(`0x${'5a'.repeat(20)}`)
  await page.getByLabel('Value in').fill('1000000000')
  const dialog = page.getByRole('dialog')
  await named(page, 'Send it').click()
  await dialog.locator('button[type=submit]').click()
  const why = await dialog.getByRole('alert').boundingBox()
  const buttons = await dialog.locator('.buttons').boundingBox()
  expect((why?.y ?? 0) + (why?.height ?? 0)).toBeLessThanOrEqual(buttons?.y ?? 0)
  await named(dialog, 'Close').click()
  expect(await page.getByLabel('Value in').inputValue()).toBe('1000000000')
})

test('names a chain without blocks as a problem of its network, and offers no price first', async () => {
  const account = await stage.rig.addAccount()
  const [sent] = await account.send(1)
  await expect.poll(async () => (await account.transactions())[0]?.status).toBe('submitted')
  const { page, open } = await start()
  await open(`/relayers/${account.relayer_id}/transactions/${sent?.id}`)
  const speedUp = named(page, 'Speed up')
  await speedUp.waitFor()
  expect(await speedUp.getAttribute('class')).not.toBe('primary')
  stage.rig.clock.passed_ms += 12 * 60_000
  await page.getByText('The chain makes no blocks, so no price helps.').waitFor()
  expect(await speedUp.getAttribute('class')).not.toBe('primary')
  await open('/')
  const row = page.getByRole('table', { name: 'relayers' }).getByRole('row').filter({ hasText: account.relayer_id })
  await row.getByText('waits for network').waitFor()
  await row.getByRole('link', { name: /no new blocks/ }).waitFor()
  await page
    .locator('.tile')
    .getByText(/^unfinished: \d+ s$/)
    .waitFor()
  await page.getByRole('link', { name: /^local: no new blocks for/ }).click()
  await page.waitForURL(/#\/networks\/evm/)
  const states = page.getByRole('table', { name: 'nodes' }).locator('.badge')
  await expect.poll(() => states.allTextContents()).toEqual(['no new blocks'])
  await account.finished(() => stage.rig.chain.mine())
})
