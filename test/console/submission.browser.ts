import { expect, test } from 'vitest'
import { startPrivateRelay } from '../support/private-relay.ts'
import { act, choose, named, openConsole, startStage } from './browser.ts'

const stage = startStage({ chain: { noMining: true } })

test('sets the private relays of a network, and sends to them', async () => {
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url())
  await signIn(stage.rig.api_key)
  const relay = await startPrivateRelay(stage.rig.chain)
  const [account, other] = [await stage.rig.addAccount(), await stage.rig.addAccount()]

  await open('/networks')
  await act(page, named(page, 'Add a network'), async (dialog) => {
    await dialog.getByLabel('Name').fill('quiet')
    await dialog.getByLabel('Chain ID').fill('31337')
    await dialog.getByLabel('Node URLs').fill(`${stage.rig.proxy.url} 40`)
    await dialog.getByLabel('Private relays').fill(relay.url)
    await dialog.getByLabel('Submission').selectOption('private')
  })
  await page.keyboard.press('Escape')
  const { data: made } = await stage.rig
    .client()
    .get('/api/v1/networks/{network_id}', { path: { network_id: 'evm:quiet' } })
  expect(made).toMatchObject({
    rpc_urls: [{ weight: 40 }],
    private_rpc_urls: [{ method: 'eth_sendRawTransaction', private_expiry_blocks: 25 }],
    submission: { mode: 'private' },
  })
  const card = page.getByRole('region', { name: 'local' })
  await choose(page, 'local', 'Edit private relays')
  await page
    .getByRole('textbox', { name: /^Private relays/ })
    .fill(`${relay.url}/secret-path eth_sendPrivateTransaction 7`)
  await page.getByRole('dialog').locator('button[type=submit]').click()
  const row = card.getByRole('row', { name: /eth_sendPrivateTransaction/ })
  await row.getByText('7 blocks').waitFor()
  expect(await page.content()).not.toContain('secret-path')
  await act(page, named(card, 'Edit'), async (dialog) => {
    await dialog.getByLabel('Submission').selectOption('private, then public')
    await dialog.getByLabel('Blocks until').fill('50')
  })
  await card.getByText('private, then public after 50 blocks').waitFor()

  await open(`/sandbox/${account.relayer_id}`)
  await page.getByRole('button', { name: 'Simulate or send' }).click()
  await page.getByLabel(/^To/).fill(other.address)
  await page.getByText('default of the network: private, then public after 50 blocks').waitFor({ state: 'attached' })
  await page.getByLabel('Submission').selectOption('private')
  relay.refuse({ code: -32_000, message: 'busy' })
  // A relay that does not answer estimates nothing.
  await page.getByLabel(/^Gas limit/).fill('21000')
  await act(page, named(page, 'Send it'))
  await page.getByRole('link', { name: `${account.relayer_id} · ` }).click()
  await page
    .getByRole('region', { name: 'Explanation' })
    .getByText(/private relay/)
    .waitFor()
  relay.refuse(undefined)
  await expect.poll(() => relay.sent.filter(({ isAccepted }) => isAccepted)).toHaveLength(1)
  const content = page.getByRole('region', { name: 'Content' })
  await content.getByText('private', { exact: true }).waitFor()

  await act(page, named(page, 'Publish'))
  await content.getByText('Public since').waitFor()
  await account.finished(() => stage.rig.chain.mine())
  await page.getByText('confirmed').first().waitFor()
})
