import { expect, test } from 'vitest'
import { openConsole, startStage } from './browser.ts'

const stage = startStage({ chain: { noMining: true }, confirmations: 4 })

test('shows in the timeline which block a reorganization removed, and where it is mined again', async () => {
  const { rig } = stage
  const client = rig.client()
  const account = await rig.addAccount()
  const [sent] = await account.send(1, { gas_limit: 50_000 })
  const id = sent?.id ?? ''
  const { page, signIn, open } = await openConsole(stage.browser, rig.url())
  await signIn(rig.api_key)
  await open(`/relayers/${account.relayer_id}/transactions/${id}`)
  const read = () => client.transactions.getRelayerTransaction(account.relayer_id, id)
  await expect.poll(async () => (await read()).status).toBe('submitted')
  await rig.chain.mine()
  await expect.poll(async () => (await read()).status).toBe('mined')
  const block = (await read()).receipt?.block_number ?? 0
  const steps = page.locator('.timeline li')
  await steps.filter({ hasText: `In block ${block.toLocaleString('en')}` }).waitFor()

  await rig.chain.reorg(1)
  const step = steps.filter({ hasText: 'Reorganized' })
  await step.getByText(`A reorganization removed block ${block.toLocaleString('en')}`).waitFor()
  await account.finished(() => rig.chain.mine())
  await steps.locator('strong').getByText('Confirmed', { exact: true }).waitFor()
  const { history } = await client.transactions.getExplanation(id)
  expect(history.map(({ event, block_number }) => [event, block_number])).toEqual([['reorganized', block]])
  const names = await steps.locator('strong').allTextContents()
  expect(names.filter((name) => /^(?:Reorganized|In block|Confirmed)/.test(name))).toEqual([
    'Reorganized',
    `In block ${((await read()).receipt?.block_number ?? 0).toLocaleString('en')}`,
    'Confirmed',
  ])
})
