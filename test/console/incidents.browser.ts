import { Wallet } from 'ethers'
import type { Locator, Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import type { RelayerPoliciesPatch } from '../../client/index.ts'
import { acknowledgeExternal } from '../support/external-transactions.ts'
import type { Account } from '../support/rig.ts'
import { act, type Console, named, openConsole, press, startStage } from './browser.ts'
import { startReceiver } from './receiver.ts'

/**
 * The incidents of an operator's nights, planted one by one. Each is seen on the overview of a phone, named on the page that its line leads to,
 * and ended: by the console where it has the remedy, else by its cause; then its line is gone.
 */
const gwei = 10n ** 9n
const ether = 10n ** 18n
const nobody = `0x${'fd'.repeat(20)}`

const stage = startStage({ chain: { noMining: true }, settings: { WEBHOOK_TIME_SCALE: '0.001' } })
const table: string[] = []
afterAll(() => process.stdout.write(`${table.join('\n')}\n${table.length} incidents seen, named and ended\n`))

interface Planted {
  /** Of its line on the overview. */
  seen: RegExp
  /** On the page of the line, or of the overview where it has none. */
  named: RegExp
  /** What ends it. */
  end(page: Page): Promise<unknown>
}

/** It is there once the stage is. */
const rig = {
  get proxy() {
    return stage.rig.proxy
  },
}
const client = () => stage.rig.client()
const mine = () => stage.rig.chain.mine()
const patch = (id: string, body: { paused?: boolean; policies?: RelayerPoliciesPatch; notification_id?: string }) =>
  client().relayers.update(id, body, { revision: '*' })
const fund = (address: string, wei = 10n * ether) => stage.rig.chain.setBalance(address, wei)
const body = { to: nobody, value: '2', data: '0x', gas_limit: 21_000, speed: 'fast' } as const
const refused = (sent: Promise<unknown>) =>
  sent.then(
    () => {
      throw new Error('It was accepted.')
    },
    () => undefined,
  )
const sendOnce = (id: string, more = {}) => client().transactions.send(id, { ...body, ...more })
const submitted = (account: Account) =>
  expect.poll(async () => (await account.transactions())[0]?.status).toBe('submitted')
const finish = (account: Account) => account.finished(mine)
const confirm = async (page: Page, button: Locator, fill?: (dialog: Locator) => Promise<unknown>) =>
  act(page, button, fill)
const changePolicy = (page: Page, name: string, text: string) =>
  confirm(
    page,
    page.getByRole('listitem').filter({ hasText: name }).getByRole('button', { name: 'Edit' }).first(),
    (its) => its.locator(`[name="${name}"]`).first().fill(text),
  )

/** A node of its own, on a network of its own, with a relayer there. */
async function capped(count: number) {
  const account = await stage.rig.addAccount()
  await patch(account.relayer_id, { policies: { gas_price_cap: `${5n * gwei}` } })
  await account.send(count, { gas_limit: 50_000 })
  await stage.rig.chain.setBaseFee(10n * gwei)
  await mine()
  return account
}

async function refusing(policies: RelayerPoliciesPatch, times = 1): Promise<Account> {
  const account = await stage.rig.addAccount()
  await patch(account.relayer_id, { policies })
  for (let count = 0; count < times; count += 1) await refused(sendOnce(account.relayer_id))
  return account
}

async function failed(count: number) {
  const account = await stage.rig.addAccount()
  await stage.rig.chain.rpc('anvil_setCode', [nobody, '0x5f5ffd'])
  await account.send(count, { to: nobody, gas_limit: 50_000 })
  await finish(account)
  await stage.rig.chain.rpc('anvil_setCode', [nobody, '0x'])
  return account
}

const acknowledge = (id: string) => async (page: Page) => {
  await page.goBack()
  const line = page.locator('.troubles li').filter({ hasText: id })
  await confirm(page, line.getByRole('button', { name: 'Acknowledge' }), (its) => its.getByLabel('Note').fill('seen'))
  await line.getByText(/environment key is dealing with it until/).waitFor()
}

async function hooked(status: number, id: string) {
  const receiver = await startReceiver()
  await client().notifications.create({ id, url: receiver.url })
  const account = await stage.rig.addAccount()
  await patch(account.relayer_id, { notification_id: id })
  receiver.answer(status, 'closed')
  await patch(account.relayer_id, { paused: true })
  await expect.poll(() => receiver.bodies.length).toBeGreaterThan(0)
  await patch(account.relayer_id, { paused: false })
  return receiver
}

/** A treasury that is asked for a refill. */
async function refilled(rules: object, has = 10n * ether) {
  const [treasury, account] = [await stage.rig.addAccount(), await stage.rig.addAccount()]
  await fund(treasury.address, has)
  await fund(account.address, 1n)
  await client().relayers.replaceFunding(account.relayer_id, {
    ...{ treasury_id: treasury.relayer_id, min_balance: `${ether}`, target_balance: `${2n * ether}` },
    ...{ max_amount_per_day: `${5n * ether}`, max_fee_per_gas: `${100n * gwei}`, ...rules },
  } as never)
  return { treasury, account }
}

const nodeFault =
  (kind: 'connection_refused' | 'http_500' | 'http_429' | 'internal_error') => async (): Promise<Planted> => {
    await rig.proxy.setFault({ kind } as never)
    return {
      seen: /local: no node is healthy/,
      named: /unreachable|rate limited/,
      end: () => rig.proxy.setFault(undefined),
    }
  }

async function foreign(nonces: number[]) {
  const key = Wallet.createRandom().privateKey
  const account = await stage.rig.addAccount({ key })
  for (const nonce of nonces) {
    const request = { type: 2, chainId: 31_337, nonce, to: account.address, gasLimit: 21_000n }
    const raw = await new Wallet(key).signTransaction({
      ...request,
      maxFeePerGas: 50n * gwei,
      maxPriorityFeePerGas: gwei,
    })
    await stage.rig.chain.rpc('eth_sendRawTransaction', [raw])
  }
  await mine()
  return account
}

async function sponsored(id: string, more = {}) {
  const account = await stage.rig.addAccount()
  const targets = [{ address: nobody, selectors: ['0x12345678'] }]
  const rules = {
    id,
    relayer_id: account.relayer_id,
    targets,
    max_gas_per_call: 100_000,
    max_fee_per_call: `${10n ** 15n}`,
  }
  return client().sponsorships.create({ ...rules, max_fee_per_day: `${ether}`, ...more })
}

const incidents: Record<string, () => Promise<Planted>> = {
  'a relayer is paused': async () => {
    const { relayer_id: id } = await stage.rig.addAccount()
    await patch(id, { paused: true })
    return {
      seen: new RegExp(`${id} \\(rig\\) is paused`),
      named: /signs and sends nothing until it is resumed/,
      end: async (page) => confirm(page, named(page, 'Resume')),
    }
  },
  'a relayer is paused, and resumed on the line itself': async () => {
    const { relayer_id: id } = await stage.rig.addAccount()
    await patch(id, { paused: true })
    return {
      seen: new RegExp(`${id} \\(rig\\) is paused`),
      named: new RegExp(id),
      async end(page) {
        await page.goBack()
        await confirm(
          page,
          page.locator('.troubles li').filter({ hasText: id }).getByRole('button', { name: 'Resume' }),
        )
      },
    }
  },
  'a balance falls below the minimum': async () => {
    const { relayer_id: id, address } = await stage.rig.addAccount()
    await fund(address, ether)
    await patch(id, { policies: { min_balance: `${2n * ether}` } })
    return {
      seen: new RegExp(`${id} \\(rig\\) is low on funds`),
      named: /below the minimum of 2 ETH/,
      end: () => fund(address),
    }
  },
  'a minimum balance is set too high': async () => {
    const { relayer_id: id, address } = await stage.rig.addAccount()
    await fund(address, ether)
    await patch(id, { policies: { min_balance: `${2n * ether}` } })
    return {
      seen: new RegExp(`${id} \\(rig\\) is low on funds`),
      named: /below the minimum/,
      async end(page) {
        await page.getByRole('link', { name: 'policies' }).click()
        await changePolicy(page, 'min_balance', '0.5')
      },
    }
  },
  'a relayer is empty': async () => {
    const { relayer_id: id, address } = await stage.rig.addAccount()
    await fund(address, 0n)
    return {
      seen: new RegExp(`${id} \\(rig\\) has no funds`),
      named: new RegExp(`Send funds to ${address}`, 'i'),
      end: () => fund(address),
    }
  },
  'a price cap is below the base fee': async () => {
    const account = await capped(1)
    return {
      seen: new RegExp(`${account.relayer_id}.*price cap`),
      named: /gas_price_cap/,
      end: async (page) => {
        await confirm(page, named(page, 'Change the policy'))
        await finish(account)
      },
    }
  },
  'a blocked nonce holds up others': async () => {
    const account = await capped(3)
    return {
      seen: new RegExp(`${account.relayer_id}.*2 more behind it`),
      named: /gas_price_cap/,
      end: async (page) => {
        await confirm(page, named(page, 'Change the policy'))
        await finish(account)
      },
    }
  },
  'the base fee rises above a price': async () => {
    const account = await stage.rig.addAccount()
    await account.send(1, { gas_limit: 50_000 })
    await submitted(account)
    await stage.rig.chain.setBaseFee(100n * gwei)
    await mine()
    return {
      seen: new RegExp(`${account.relayer_id}.*base fee`),
      named: /base fee/,
      end: async (page) => {
        await confirm(page, named(page, 'Speed up'))
        await finish(account)
      },
    }
  },
  'the base fee rises, and the price on the line itself': async () => {
    const account = await stage.rig.addAccount()
    await account.send(1, { gas_limit: 50_000 })
    await submitted(account)
    await stage.rig.chain.setBaseFee(100n * gwei)
    await mine()
    return {
      seen: new RegExp(`${account.relayer_id}.*base fee`),
      named: /base fee/,
      async end(page) {
        await page.goBack()
        const line = page.locator('.troubles li').filter({ hasText: account.relayer_id })
        await confirm(page, line.getByRole('button', { name: 'Speed up' }))
        await finish(account)
      },
    }
  },
  'a transaction is not worth its price any more': async () => {
    const account = await capped(1)
    return {
      seen: new RegExp(`${account.relayer_id}.*price cap`),
      named: /gas_price_cap/,
      end: async (page) => {
        await confirm(page, named(page, 'Cancel'))
        await stage.rig.chain.setBaseFee(gwei)
        await finish(account)
      },
    }
  },
  'a transaction has no funds': async () => {
    const account = await stage.rig.addAccount()
    await rig.proxy.setFault({ kind: 'internal_error', methods: ['eth_sendRawTransaction'] })
    await account.send(1, { gas_limit: 50_000 })
    await fund(account.address, 0n)
    await rig.proxy.setFault(undefined)
    return {
      seen: new RegExp(`${account.relayer_id}.*balance is too low`, 'i'),
      named: new RegExp(account.address, 'i'),
      end: async () => {
        await fund(account.address)
        await finish(account)
      },
    }
  },
  'nodes take no transaction': async () => {
    const account = await stage.rig.addAccount()
    await rig.proxy.setFault({ kind: 'internal_error', methods: ['eth_sendRawTransaction'] })
    await account.send(1, { gas_limit: 50_000 })
    return {
      seen: new RegExp(`${account.relayer_id} \\(rig\\) · nonce 0`),
      named: /node/i,
      end: async () => {
        await rig.proxy.setFault(undefined)
        await finish(account)
      },
    }
  },
  'the chain makes no blocks': async () => {
    const account = await stage.rig.addAccount()
    await account.send(1, { gas_limit: 50_000 })
    await submitted(account)
    stage.rig.clock.passed_ms += 20 * 60_000
    return { seen: /local: no new blocks/, named: /Last block/, end: () => finish(account) }
  },
  'another program uses the key': async () => {
    const { relayer_id: id } = await foreign([0])
    return {
      seen: new RegExp(`${id} \\(rig\\): its nonces do not match the chain`),
      named: /chain ahead/,
      end: async (page) => confirm(page, named(page, 'Repair the nonces')),
    }
  },
  'another program sends several': async () => {
    const { relayer_id: id } = await foreign([0, 1, 2])
    return {
      seen: new RegExp(`${id} \\(rig\\): its nonces do not match the chain`),
      named: /chain ahead/,
      async end(page) {
        await page.goBack()
        const line = page.locator('.troubles li').filter({ hasText: id })
        await confirm(page, line.getByRole('button', { name: 'Repair the nonces' }))
      },
    }
  },
  'the notice of another program stays': async () => {
    // Problems of one kind are one line: those of the incidents before are ended first.
    for (const { kind, relayer_id } of (await client().get('/api/v1/problems', { query: { per_page: 1_000 } })).data)
      if (kind === 'external_transactions' && relayer_id !== null) await acknowledgeExternal(client(), relayer_id)
    const { relayer_id: id } = await foreign([0])
    await client().relayers.reconcileNonce(id)
    return {
      seen: new RegExp(`${id} \\(rig\\): transactions with its key were not sent by this service`),
      named: /Stop the other program that uses the key/,
      async end(page) {
        await page.goBack()
        const line = page.locator('.troubles li').filter({ hasText: id })
        await confirm(page, line.getByRole('button', { name: 'Mark as compared' }))
      },
    }
  },
  'a transaction fails': async () => {
    const { relayer_id: id } = await failed(1)
    return {
      seen: new RegExp(`${id} \\(rig\\): a transaction failed`),
      named: /failed|reverted/i,
      end: acknowledge(id),
    }
  },
  'several transactions fail': async () => {
    const { relayer_id: id } = await failed(3)
    return { seen: new RegExp(`${id} \\(rig\\): 3 transactions failed`), named: /failed/, end: acknowledge(id) }
  },
  'a webhook endpoint answers 500': async () => {
    const receiver = await hooked(500, 'hook-500')
    return {
      seen: /Notification hook-500 is failing|hook-500: \d+ deliver/,
      named: /HTTP 500/,
      end: async (page) => {
        receiver.answer(200)
        if (await named(page, 'Redeliver failed').isEnabled()) await confirm(page, named(page, 'Redeliver failed'))
        await confirm(page, named(page, 'Redeliver pending'))
      },
    }
  },
  'a webhook endpoint says that it is gone': async () => {
    const receiver = await hooked(410, 'hook-410')
    return {
      seen: /Notification hook-410 is disabled/,
      named: /This notification is disabled/,
      end: async (page) => {
        receiver.answer(200)
        await confirm(page, named(page, 'Edit'), (its) => its.getByLabel('URL').first().fill(`${receiver.url}/again`))
      },
    }
  },
  'no node can be reached': nodeFault('connection_refused'),
  'every node answers HTTP 500': nodeFault('http_500'),
  'nodes are on another chain': async () => {
    rig.proxy.setLiar(({ method }) => (method === 'eth_chainId' ? { result: '0x5' } : undefined))
    await client().networks.update('evm:local', { rpc_urls: [`${rig.proxy.url}/other`] }, { revision: '*' })
    return {
      seen: /local: no node is healthy.*wrong chain/,
      named: /It is on chain 5 and not on 31337/,
      end: async () => rig.proxy.setLiar(undefined),
    }
  },
  'one of two nodes is down': async () => {
    await client().networks.update('evm:local', { rpc_urls: [rig.proxy.url, 'http://127.0.0.1:9'] }, { revision: '*' })
    return {
      seen: /local: 1 of 2 nodes is not healthy/,
      named: /unreachable/,
      async end(page) {
        const row = page.getByRole('row').filter({ hasText: 'unreachable' })
        await row.getByRole('button', { name: /^More actions/ }).click()
        await confirm(page, page.getByRole('menuitem', { name: 'Remove' }))
      },
    }
  },
  'balances cannot be read': async () => {
    await rig.proxy.setFault({ kind: 'internal_error', methods: ['eth_getBalance'] })
    return {
      seen: /The balance and nonces of relayers could not be read/,
      named: /could not be read/,
      end: () => rig.proxy.setFault(undefined),
    }
  },
  'a value limit refuses payouts': async () => {
    const { relayer_id: id } = await refusing({ max_value: '1' }, 6)
    return {
      seen: new RegExp(`${id} \\(rig\\) refused 6 requests`),
      named: /above the limit of 1 wei|Sends at most/,
      end: (page) => changePolicy(page, 'max_value', ''),
    }
  },
  'a list of receivers refuses payouts': async () => {
    const { relayer_id: id } = await refusing({ whitelist_receivers: [`0x${'12'.repeat(20)}`] })
    return {
      seen: new RegExp(`${id} \\(rig\\) refused a request`),
      named: /Sends only to 1 receiver/,
      end: (page) => changePolicy(page, 'whitelist_receivers', nobody),
    }
  },
  'a limit of a day is used up': async () => {
    const { relayer_id: id } = await refusing({ max_value_per_day: '1' })
    return {
      seen: new RegExp(`${id} \\(rig\\) refused a request`),
      named: /per day/,
      end: (page) => changePolicy(page, 'max_value_per_day', '1'),
    }
  },
  'a drained relayer gets requests': async () => {
    const { relayer_id: id } = await refusing({ allow_transactions: false })
    return {
      seen: new RegExp(`${id} \\(rig\\) refused a request`),
      named: /Does not accept transactions/,
      async end(page) {
        const row = page.getByRole('listitem').filter({ hasText: 'allow_transactions' })
        await confirm(page, row.getByRole('button'), (its) => its.locator('select').selectOption(''))
      },
    }
  },
  'a pool refuses payouts': async () => {
    const { relayer_id: id } = await stage.rig.addAccount()
    const pool = { id: 'refusing-pool', network: 'local', relayer_ids: [id], policies: { max_value: '1' } }
    await client().pools.create(pool)
    await refused(client().pools.sendTransaction('refusing-pool', body))
    return {
      seen: /refusing-pool refused a request/,
      named: /max_value/,
      end: () => client().pools.update('refusing-pool', { policies: { max_value: null } }, { revision: '*' }),
    }
  },
  'a sponsorship has used up its budget': async () => {
    await sponsored('used-up', { max_fee_per_day: `${10n ** 15n}` })
    // Any fee leaves less than one call may cost.
    await client().sponsorships.sendSponsoredCall('used-up', { to: nobody, data: '0x12345678' })
    return {
      seen: /Sponsorship used-up has used up its budget/,
      named: /used-up/,
      async end(page) {
        const row = page.getByRole('row').filter({ hasText: 'used-up' })
        await confirm(page, named(row as never, 'Edit'), (its) => its.getByLabel('For 24 h').fill('1'))
      },
    }
  },
  'a sponsorship refuses a function': async () => {
    await sponsored('strict-game')
    await refused(client().sponsorships.sendSponsoredCall('strict-game', { to: nobody, data: '0x87654321' }))
    return {
      seen: /strict-game refused a request/,
      named: /strict-game/,
      async end(page) {
        await named(page, 'More actions of strict-game').click()
        await confirm(page, page.getByRole('menuitem', { name: 'Delete' }))
      },
    }
  },
  'a treasury has too little': async () => {
    const { treasury, account } = await refilled({}, 1n)
    await expect
      .poll(async () => (await client().relayers.getFunding(account.relayer_id)).status)
      .not.toBe('sufficient')
    return {
      seen: new RegExp(`${account.relayer_id} \\(rig\\) is not being refilled \\(treasury short`),
      named: /treasury short/,
      end: async () => {
        await fund(treasury.address)
        await finish(treasury)
      },
    }
  },
  'gas is too dear for a refill': async () => {
    const { treasury, account } = await refilled({ max_fee_per_gas: '1' })
    return {
      seen: new RegExp(`${account.relayer_id} \\(rig\\) is not being refilled \\(fee too high`),
      named: /fee too high/,
      end: async (page) => {
        await confirm(page, named(page, 'Edit refills'), (its) => its.getByLabel('Gas price limit').fill('100'))
        await finish(treasury)
      },
    }
  },
  'a refill is above its limit per day': async () => {
    const { treasury, account } = await refilled({ max_amount_per_day: '1' })
    return {
      seen: new RegExp(`${account.relayer_id} \\(rig\\) is not being refilled \\(limit reached`),
      named: /limit reached/,
      end: async (page) => {
        await confirm(page, named(page, 'Edit refills'), (its) => its.getByLabel('Limit per day').fill('5'))
        await finish(treasury)
      },
    }
  },
}

let opened: Console | undefined

test('every incident is seen, named and ended from a phone', async () => {
  opened = await openConsole(stage.browser, stage.rig.url(), { width: 390 })
  opened.expectComplaint(/status of [45]\d\d/)
  const { page, signIn, open } = opened
  await signIn(stage.rig.api_key)
  await fund((await client().relayers.get('demo')).address)
  const only = process.env.INCIDENT
  for (const [name, plant] of Object.entries(incidents)) {
    if (only !== undefined && !name.includes(only)) continue
    const began = performance.now()
    try {
      const its = await plant()
      stage.rig.clock.passed_ms += 61_000
      await open('/')
      const line = page.locator('.troubles :is(a, .callout)').filter({ hasText: its.seen }).first()
      await line.waitFor({ timeout: 30_000 })
      const seenMs = performance.now() - began
      await press(line)
      await page.locator('#content').getByText(its.named).first().waitFor({ timeout: 15_000 })
      await its.end(page)
      await open('/')
      const left = page.locator('.troubles li:not(.idle) a, .troubles .callout').filter({ hasText: its.seen })
      await expect
        .poll(
          () => {
            stage.rig.clock.passed_ms += 5_000
            return left.count()
          },
          { timeout: 40_000 },
        )
        .toBe(0)
      table.push(`| ${name} | seen in ${Math.round(seenMs / 100) / 10} s | named | ended |`)
    } catch (error) {
      expect.soft(`${name}: ${error}`.slice(0, 400)).toBe('')
      await page.keyboard.press('Escape')
    } finally {
      await rig.proxy.setFault(undefined)
      rig.proxy.setLiar(undefined)
      await client().networks.update('evm:local', { rpc_urls: [rig.proxy.url] }, { revision: '*' })
      await stage.rig.chain.setBaseFee(gwei)
      await mine()
    }
  }
}, 1_800_000)
