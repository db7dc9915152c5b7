import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openConsole, startStage } from './browser.ts'

const base = '/api/v1/relayers/{relayer_id}'
const gwei = 10n ** 9n
const maxStops = 60

const stage = startStage({ chain: { noMining: true } })

/** The text or the label of what has the focus. */
const focused = (page: Page) =>
  page.evaluate<string>(
    `(({ activeElement: it }) => it.ariaLabel || it.labels?.[0]?.textContent || it.textContent)(document)`,
  )

/** Presses Tab until this has the focus, which a reader sees. */
async function tabTo(page: Page, text: RegExp): Promise<void> {
  const passed: string[] = []
  for (let stop = 0; stop < maxStops; stop += 1) {
    await page.keyboard.press('Tab')
    const here = await focused(page)
    passed.push(here.slice(0, 40))
    if (!text.test(here)) continue
    const outline = await page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle')
    expect(outline, `the focus on ${await page.evaluate('document.activeElement.outerHTML')}`).not.toBe('none')
    return
  }
  throw new Error(`No Tab leads to ${text}, only to ${passed.join(' | ')}`)
}

test('works with the keyboard alone: sign in, find a problem, read its remedy, leave it, apply it', async () => {
  const account = await stage.rig.addAccount()
  const path = { relayer_id: account.relayer_id }
  const [transaction] = await account.send(1, { gas_limit: 50_000 })
  const read = async () => {
    const input = { path: { ...path, transaction_id: transaction?.id ?? '' } }
    return (await stage.rig.client().get(`${base}/transactions/{transaction_id}`, input)).data
  }
  await expect.poll(async () => (await read()).status).toBe('submitted')
  const offered = await read()
  await stage.rig.chain.setBaseFee(100n * gwei)
  await stage.rig.chain.mine()

  const { page } = await openConsole(stage.browser, stage.rig.url())
  // The page has nothing else to begin with.
  await expect.poll(() => focused(page)).toMatch(/^API key/)
  await page.keyboard.type(stage.rig.api_key)
  await page.keyboard.press('Enter')
  await page
    .locator('.troubles a')
    .filter({ hasText: /base fee/ })
    .first()
    .waitFor()
  await tabTo(page, /Skip to content/)
  await page.keyboard.press('Enter')
  await tabTo(page, new RegExp(`${account.relayer_id}.*base fee`))
  await page.keyboard.press('Enter')

  const remedy = /^Speed up$/
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: remedy }).waitFor()
  await tabTo(page, remedy)
  for (const leave of ['Escape', 'Enter']) {
    await page.keyboard.press('Enter')
    await dialog.waitFor()
    if (leave === 'Enter') await tabTo(page, /^Close$/)
    await page.keyboard.press(leave)
    await dialog.waitFor({ state: 'detached' })
    expect(await focused(page)).toMatch(remedy)
  }
  expect((await read()).max_fee_per_gas).toBe(offered.max_fee_per_gas)

  await page.keyboard.press('Enter')
  await dialog.waitFor()
  await tabTo(page, /^Speed up .+ · nonce/)
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'detached' })
  expect(BigInt((await read()).max_fee_per_gas ?? 0)).toBeGreaterThan(BigInt(offered.max_fee_per_gas ?? 0))
  await account.finished(() => stage.rig.chain.mine())
  await page.locator('.timeline').getByText('Confirmed', { exact: true }).waitFor()
  // The remedy is gone, and the keyboard is not at the top of the page again.
  expect(await page.evaluate('document.activeElement.id')).toBe('content')
})
