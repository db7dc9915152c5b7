import { expect, test } from 'vitest'
import { act, named, openConsole, startStage } from './browser.ts'

const base = '/api/v1/relayers/{relayer_id}'

const stage = startStage()

/** The console at a page, signed in. */
async function at(path: string) {
  const opened = await openConsole(stage.browser, stage.rig.url())
  await opened.signIn(stage.rig.api_key)
  await opened.open(path)
  return opened
}

test('names the ones that were refused of several, which stay chosen', async () => {
  const [kept, gone] = [await stage.rig.addAccount(), await stage.rig.addAccount()]
  const { page, expectComplaint } = await at('/')
  expectComplaint(/status of 404/)
  await page.getByLabel(`Select ${kept.relayer_id}`).check()
  await page.getByLabel(`Select ${gone.relayer_id}`).check()
  await stage.rig.client().delete(base, { path: { relayer_id: gone.relayer_id } })
  await act(page, named(page, 'Pause selected'))
  await page.getByRole('dialog').getByText('1 paused, 1 refused:').waitFor()
  await page.getByRole('dialog').getByText(`${gone.relayer_id}: `).waitFor()
  await named(page.getByRole('dialog'), 'Close').click()
  await page.getByText('1 selected').waitFor()
  expect((await stage.rig.client().get(base, { path: { relayer_id: kept.relayer_id } })).data.paused).toBe(true)
})
