import { Interface } from 'ethers'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import type { Account } from '../support/rig.ts'
import { compileSolidity } from '../support/solidity.ts'
import { act, named, openConsole, startStage } from './browser.ts'

const unknown = `0x${'56'.repeat(20)}`
const stage = startStage()
let account: Account
/** Of a token with 18 decimals, `CNT`, whose ABI the service has. */
let token: string

beforeAll(async () => {
  account = await stage.rig.addAccount()
  const { abi, bytecode } = compileSolidity('CountedToken.sol', 'CountedToken')
  const made = new Interface(abi).encodeDeploy([account.address, 10n ** 24n]).slice(2)
  const path = { relayer_id: account.relayer_id }
  const body = { to: null, value: '0', data: `${bytecode}${made}` }
  await stage.rig.client().post('/api/v1/relayers/{relayer_id}/transactions', { path, body })
  await account.finished()
  const [created] = await account.transactions()
  token = created?.receipt?.contract_address ?? ''
  await stage.rig.client().post('/api/v1/abis', {
    body: { id: 'counted', network: 'local', address: token, name: 'Counted', abi: abi as never },
  })
})

const limits = async () =>
  (await stage.rig.client().relayers.get(account.relayer_id)).policies.token_limits?.map(
    ({ max_amount_per_day }) => max_amount_per_day,
  )

async function atPolicies() {
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url())
  await signIn(stage.rig.api_key)
  await open(`/relayers/${account.relayer_id}/policies`)
  return page
}

const edit = (page: Page) =>
  named(page.getByRole('listitem').filter({ has: page.getByText('token_limits', { exact: true }) }), 'Edit')

test('takes amounts of a token in its own unit, exactly, and those of an unknown one in base units', async () => {
  const page = await atPolicies()
  const dialog = page.getByRole('dialog')
  const amount = (row: number) => dialog.getByLabel(`Limit in 24 h ${row}`)
  await act(page, edit(page), async () => {
    await dialog.getByLabel('token_limits').selectOption('only these')
    await dialog.getByLabel('Token limits 1').fill(token)
    await dialog.getByText('CNT').first().waitFor()
    await amount(1).fill('1.5')
    await named(dialog, 'Add another token').click()
    await dialog.getByLabel('Token limits 2').fill(unknown)
    await amount(2).fill('5000')
    await dialog.getByText('base units').first().waitFor()
  })
  await expect.poll(limits).toEqual(['1500000000000000000', '5000'])

  await edit(page).click()
  await expect.poll(() => amount(1).inputValue()).toBe('1.5')
  expect(await amount(2).inputValue()).toBe('5000')
  await amount(1).fill('0.0000000000000000015')
  await named(dialog, 'Save').click()
  await dialog.getByText('Enter at most 18 digits after the point: CNT has no more.').waitFor()
  await amount(1).fill('0.000000000000000015')
  await amount(2).fill('5000.5')
  await named(dialog, 'Save').click()
  await dialog.getByText('Enter a whole number of base units, such as 5.').waitFor()
  expect(await limits()).toEqual(['1500000000000000000', '5000'])
  await amount(2).fill('5001')
  await named(dialog, 'Save').click()
  await expect.poll(limits).toEqual(['15', '5001'])
})
