import { beforeAll, expect, test } from 'vitest'
import { named, openConsole, startStage } from './browser.ts'

const stage = startStage()

beforeAll(async () => {
  await stage.rig.addAccount()
})

async function start() {
  const its = await openConsole(stage.browser, stage.rig.url())
  await its.signIn(stage.rig.api_key)
  return its
}

test('narrows the audit trail by fields that count by Enter or when they are left, and says how many are set', async () => {
  const { page, open } = await start()
  await open('/audit')
  const caller = page.getByLabel('Caller')
  await caller.fill('nobody')
  await caller.press('Enter')
  await page.getByText('No entry with caller “nobody”').waitFor()
  expect(await caller.evaluate((its) => its.matches(':focus'))).toBe(true)
  await named(page, 'More filters').click()
  await page.getByLabel('Operation').fill('edit relayer')
  await page.getByLabel('Subject').click()
  await page.getByText('No entry with caller “nobody”, operation “edit relayer”').waitFor()
  await page.getByLabel('Entries of the service').selectOption('listed')
  await named(page, 'More filters (2)').waitFor()
  await named(page, 'Clear filters').click()
  await page.getByText(/^\d+ entries by callers, newest first$/).waitFor()
  expect(await caller.inputValue()).toBe('')
  // As the table names it; the service has another word.
  const asked = page.waitForRequest(/[?&]caller=command_line(?:&|$)/)
  await caller.fill('Command line')
  await caller.press('Enter')
  await asked
})

test('leaves the list for another page while a filter is typed', async () => {
  const { page, open } = await start()
  await open('/audit')
  await page.getByLabel('Caller').fill('somebody')
  await page.evaluate("location.hash = '#/signers'")
  await page.getByRole('heading', { name: 'Signers' }).waitFor()
  expect(page.url()).toContain('#/signers')
})

test('keeps the head of a long table in sight', async () => {
  const make = () => stage.rig.client().post('/api/v1/signers', { body: { type: 'generated' } })
  for (let made = 0; made < 12; made += 1) await make()
  const { page, open } = await start()
  await page.setViewportSize({ width: 1280, height: 400 })
  await open('/signers')
  await page.getByRole('row').last().scrollIntoViewIfNeeded()
  await expect.poll(() => page.evaluate('scrollY')).toBeGreaterThan(200)
  expect((await page.getByRole('columnheader', { name: 'Signer' }).boundingBox())?.y).toBe(0)
})

test('sorts a table by a heading, both ways, and pages what is sorted', async () => {
  const { page, open } = await start()
  await open('/signers')
  const heading = page.getByRole('columnheader', { name: 'Signer' })
  await heading.waitFor()
  const first = () => page.getByRole('row').nth(1).getByRole('cell').first().textContent()
  await expect.poll(() => heading.getAttribute('aria-sort')).toBe('ascending')
  const { data } = await stage.rig.client().get('/api/v1/signers', { query: { per_page: 1_000 } })
  const order = new Intl.Collator('en', { numeric: true }).compare
  const ids = data.map(({ id }) => id).sort(order)
  expect(ids.length).toBeGreaterThan(1)
  expect(await first()).toBe(ids[0])
  await named(page, 'Signer').click()
  expect(await heading.getAttribute('aria-sort')).toBe('descending')
  expect(await first()).toBe(ids.at(-1))
})

test('narrows a long table to the rows with a text', async () => {
  const body = { type: 'generated' as const }
  for (let index = 0; index < 30; index += 1)
    await stage.rig.client().post('/api/v1/signers', { body: { ...body, id: `spare-${index}` } })
  const { page, open } = await start()
  await open('/signers')
  const rows = page.getByRole('table', { name: 'signers' }).getByRole('row')
  await named(page, 'Next').click()
  await page.getByLabel('Filter by ID').fill('SPARE-2')
  await expect.poll(() => rows.count()).toBe(1 + 11)
  await page.getByLabel('Filter by ID').fill('spare-nothing')
  await page.getByText('None of the signers has “spare-nothing”').waitFor()
})
