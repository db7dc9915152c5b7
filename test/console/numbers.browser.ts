import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Account } from '../support/rig.ts'
import { openConsole, startStage } from './browser.ts'

/**
 * Compares the numbers that the console shows with those that the API answers at that moment, while the chain misbehaves. `NUMBERS_MINUTES=10`:
 * for so long, with steps in an order that chance gives; else each step once.
 */
const minutes = Number(process.env.NUMBERS_MINUTES ?? 0)
const gwei = 10n ** 9n

const stage = startStage({ chain: { noMining: true } })
/** Millions and more are short: `1.234M ETH`. */
const sizes = ['', 'K', 'M', 'B', 'T']
const wei = { ETH: 18, gwei: 9 } as const

/** What the console shows under a name. */
type Shown = Map<string, string>
interface Expected {
  [name: string]: string | number | bigint | null
}

const figuresOf = async (page: Page): Promise<Shown> =>
  new Map(
    await page.evaluate<[string, string][]>(`
      [...document.querySelectorAll('#content dl.figures > div')].map((one) =>
        [one.querySelector('dt').textContent, one.querySelector('dd').textContent])`),
  )

/** Whether a text shows the number: all of its digits up to the last one that is shown, in the unit that follows it. */
function isShown(text: string, value: string | number | bigint | null): boolean {
  if (value === null) return /^(?:unknown|–|none|not signed)/.test(text)
  const [, less, digits = '', size = '', symbol = ''] =
    /^(< )?([\d,]+(?:\.\d+)?)([MBT]?)(?: (ETH|gwei))?/.exec(text) ?? []
  const [whole = '', part = ''] = digits.replaceAll(',', '').split('.')
  if (!/^\d+$/.test(whole)) return false
  const places = (wei[symbol as keyof typeof wei] ?? 0) + sizes.indexOf(size) * 3
  const unit = 10n ** BigInt(places - part.length)
  const number = BigInt(whole + part)
  return less ? BigInt(value) > 0n && BigInt(value) < number * unit : BigInt(value) / unit === number
}

const faultsIn = (shown: Shown, expected: Expected): string[] =>
  Object.entries(expected).flatMap(([name, value]) => {
    const text = shown.get(name)
    if (text === undefined) return value === null ? [] : [`${name}: not shown, and ${value} in the API`]
    return isShown(text, value) ? [] : [`${name}: shown ${text}, and ${value} in the API`]
  })

test('shows the numbers of the API while the chain misbehaves', async () => {
  const { rig } = stage
  const client = rig.client()
  const account = await rig.addAccount()
  const [first] = await account.send(3, { gas_limit: 50_000 })
  const id = first?.id ?? ''
  const { page, signIn, open, expectComplaint } = await openConsole(stage.browser, rig.url())
  expectComplaint(/status of 50\d/)
  await signIn(rig.api_key)

  const path = { relayer_id: account.relayer_id }
  const pages: Record<string, () => Promise<Expected>> = {
    [`/relayers/${account.relayer_id}`]: async () => {
      const { data } = await client.get('/api/v1/relayers/{relayer_id}/status', { path })
      return { Balance: data.balance, Unfinished: data.pending_transactions_count, 'Next nonce': data.nonce }
    },
    [`/relayers/${account.relayer_id}/transactions/${id}`]: async () => {
      const { figures, wait_reason } = await client.transactions.getExplanation(id)
      const { data } = await client.get('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
        path: { ...path, transaction_id: id },
      })
      const fixed = { Value: data.value, 'Gas limit': data.gas_limit, Block: data.receipt?.block_number ?? null }
      if (wait_reason === null) return fixed
      const { max_fee_per_gas: price, base_fee, max_cost, next_nonce } = figures
      return {
        ...fixed,
        'Price at most': price,
        'Base fee, next block': base_fee,
        'Costs at most': max_cost,
        'Next nonce on chain': next_nonce,
      }
    },
    '/networks/evm:local': async () => {
      const { data } = await client.get('/api/v1/networks/{network_id}/nodes', { path: { network_id: 'evm:local' } })
      return {
        'Chain ID': 31_337,
        'Base fee, last block': data[0]?.base_fee ?? null,
        'Last block': data[0]?.block_number ?? null,
      }
    },
  }
  const steps: Record<string, (its: Account) => Promise<unknown>> = {
    'the base fee rises': async () => {
      await rig.chain.setBaseFee(90n * gwei)
      await rig.chain.mine()
    },
    'no node answers': () => rig.proxy.setFault({ kind: 'internal_error' }),
    'the nodes are back': () => rig.proxy.setFault(undefined),
    'a block is made': () => rig.chain.mine(),
    'the base fee falls': async () => {
      await rig.chain.setBaseFee(gwei)
      await rig.chain.mine()
    },
    'a reorganization removes blocks': () => rig.chain.reorg(2),
    'time passes': async () => {
      rig.clock.passed_ms += 60_000
    },
    // Nothing is accepted while no node answers.
    'more is sent': async () => {
      await rig.proxy.setFault(undefined)
      await account.send(1, { gas_limit: 50_000 })
    },
  }
  const compare = async (after: string) => {
    for (const [address, read] of Object.entries(pages)) {
      await open(address)
      let faults: string[] = []
      // The console asks every few seconds: it shows the same once nothing changes.
      await expect
        .poll(
          async () => {
            const before = await read().catch(() => ({}))
            faults = faultsIn(await figuresOf(page), before)
            return faults
          },
          { message: `after “${after}”, on ${address}` },
        )
        .toEqual([])
    }
  }
  await compare('the start')
  const names = Object.keys(steps)
  const until = Date.now() + minutes * 60_000
  for (let number = 0; number < names.length || Date.now() < until; number += 1) {
    const name = names[number < names.length ? number : Math.floor(Math.random() * names.length)] as string
    await steps[name]?.(account)
    await compare(name)
  }
  await rig.proxy.setFault(undefined)
  await account.finished(() => rig.chain.mine())
  await compare('the end')
}, 1_200_000)
