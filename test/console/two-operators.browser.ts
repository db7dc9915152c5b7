import { expect, test } from 'vitest'
import { type Console, named, openConsole, startStage } from './browser.ts'

// Two operators at once: a dialog that is open shows and keeps what the other one changes.

const stage = startStage({ chain: { noMining: true } })
const other = `0x${'b0'.repeat(20)}`

async function at(path: string): Promise<Console> {
  const opened = await openConsole(stage.browser, stage.rig.url())
  await opened.signIn(stage.rig.api_key)
  await opened.open(path)
  return opened
}

test('a name that is saved gives back no right that was revoked while the dialog was open', async () => {
  const client = stage.rig.client()
  const { api_key } = await client.apiKeys.create({ name: 'shop', scopes: ['read', 'send', 'sign'] })
  const { page, expectComplaint } = await at(`/keys/${api_key.id}`)
  expectComplaint(/status of 412/)
  await named(page, 'Edit').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('shop 2')
  // The page reads the key every few seconds: here, not before the service has refused the change.
  const refused = Promise.withResolvers<void>()
  await page.route(`**/api-keys/${api_key.id}`, async (route) => {
    if (route.request().method() === 'GET') await refused.promise
    await route.continue()
  })
  await client.apiKeys.update(api_key.id, { scopes: ['read'] })
  const response = page.waitForResponse((its) => its.status() === 412)
  await named(dialog, 'Save').click()
  await response
  refused.resolve()
  await dialog.getByText('Somebody has changed this').waitFor()
  expect(await dialog.locator('del').first().textContent()).toBe('read, send, sign')
  expect(await dialog.locator('ins').first().textContent()).toBe('read')
  expect(await client.apiKeys.get(api_key.id)).toMatchObject({ name: 'shop', scopes: ['read'] })
  await named(dialog, 'Begin again with these').click()
  await dialog.getByLabel('Name').fill('shop 2')
  await named(dialog, 'Save').click()
  await dialog.waitFor({ state: 'hidden' })
  expect(await client.apiKeys.get(api_key.id)).toMatchObject({ name: 'shop 2', scopes: ['read'] })
})

test('a dialog that pauses never resumes: it closes when somebody else has paused', async () => {
  const client = stage.rig.client()
  const { page } = await at('/relayers/demo')
  await named(page, 'Pause').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('heading', { name: 'Pause relayer demo' }).waitFor()
  await client.relayers.update('demo', { paused: true })
  await dialog.waitFor({ state: 'hidden' })
  await page.getByText('Relayer demo is paused already: somebody else has changed it. Nothing was sent.').waitFor()
  expect((await client.relayers.get('demo')).paused).toBe(true)
  await named(page, 'Resume').waitFor()
  await client.relayers.update('demo', { paused: false })
})

test('signs neither the content nor more than the price that was shown before another operator replaced it', async () => {
  const { chain } = stage.rig
  const client = stage.rig.client()
  const account = await stage.rig.addAccount()
  const [sent] = await account.send(1)
  const { id = '', relayer_id = '' } = sent ?? {}
  await expect
    .poll(async () => (await client.transactions.getRelayerTransaction(relayer_id, id)).status)
    .toBe('submitted')
  const { page, expectComplaint } = await at(`/relayers/${relayer_id}/transactions/${id}`)
  expectComplaint(/status of 409/)
  await named(page, 'Speed up').click()
  const dialog = page.getByRole('dialog')
  const confirm = named(dialog, `Speed up ${relayer_id} · nonce 0`)
  await expect.poll(() => confirm.isEnabled()).toBe(true)
  await client.transactions.replace(relayer_id, id, { to: other, value: '7', data: '0x' }, { revision: '*' })
  await chain.setBaseFee(400n * 10n ** 9n)
  await confirm.click()
  // The replacement already pays what was shown.
  await dialog.getByText(/Nothing was changed/).waitFor()
  const now = await client.transactions.getRelayerTransaction(relayer_id, id)
  expect(now).toMatchObject({ to: other, value: '7' })
  expect(BigInt(now.max_fee_per_gas ?? 0)).toBeLessThan(400n * 10n ** 9n)
})
