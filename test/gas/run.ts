import { setTimeout as pause } from 'node:timers/promises'
import { Wallet } from 'ethers'
import type { Anvil } from '../support/anvil.ts'
import { type FaultProxy, type Liar, startFaultProxy } from '../support/fault-proxy.ts'
import { gasFork } from '../support/gas-fork.ts'
import { type Account, startRig } from '../support/rig.ts'
import { startGeth } from './geth.ts'

// `npm run test:gas`: rules of gas that change under GAS_COUNT (2000) payouts, half of them to new addresses. `-- geth`: geth forks in
// mid-run; `-- old`: the same, and one node of three keeps the old rules; `-- invented`: all gas is tripled (needs no geth). GETH: the command.

const count = Number(process.env.GAS_COUNT ?? 2_000)
const atOnce = 25
const known = `0x${'5a'.repeat(20)}`

async function pay(account: Account, halfway: () => void): Promise<string[]> {
  const fresh: string[] = []
  for (let sent = 0; sent < count; sent += atOnce) {
    if (sent >= count / 2 && sent < count / 2 + atOnce) halfway()
    const receivers = Array.from({ length: atOnce }, (_, index) =>
      index % 2 === 0 ? known : Wallet.createRandom().address,
    )
    fresh.push(...receivers.filter((to) => to !== known))
    await Promise.all(receivers.map((to) => account.send(1, { to })))
    await pause(250)
  }
  return fresh
}

/** What went wrong, by kind; every payout must be confirmed once. */
async function judge(name: string, account: Account, fresh: string[], chain: Pick<Anvil, 'rpc'>): Promise<boolean> {
  const ended = await account.finishedWithin(120_000)
  const rows = await account.transactions()
  const outOfGas = rows.filter(({ error }) => error?.code === 'out_of_gas').length
  const confirmed = rows.filter(({ status }) => status === 'confirmed')
  const due = new Map(fresh.map((to) => [to.toLowerCase(), 0n]))
  for (const { to, value } of rows) if (to && due.has(to)) due.set(to, (due.get(to) ?? 0n) + BigInt(value))
  let wrong = 0
  for (const [to, amount] of due) {
    const balance = BigInt(await chain.rpc<string>('eth_getBalance', [to, 'latest']))
    if (balance !== amount) wrong += 1
  }
  const limits = [...new Set(rows.map(({ gas_limit }) => gas_limit))].sort((a, b) => Number(a) - Number(b))
  const figures = {
    payouts: rows.length,
    confirmed: confirmed.length,
    out_of_gas: outOfGas,
    jams: ended ? 0 : 1,
    wrong_receivers: wrong,
  }
  process.stdout.write(`${name}: ${JSON.stringify(figures)}, gas limits ${limits.join(', ')}\n`)
  return ended && confirmed.length === rows.length && wrong === 0
}

/** geth forks when half of the payouts are sent. `isOneOld`: one node of three answers by the old rules for ever. */
async function forks(isOneOld: boolean): Promise<boolean> {
  const takesS = (count / atOnce) * 0.4
  const geth = await startGeth(Math.floor(Date.now() / 1_000) + 8 + Math.ceil(takesS / 2))
  const rig = await startRig()
  const proxies = await Promise.all(Array.from({ length: isOneOld ? 3 : 1 }, () => startFaultProxy(geth.url)))
  if (isOneOld) proxies[0]?.setLiar(oldRules)
  try {
    const account = await rig.addAccount({ rpc_urls: proxies.map(({ url }) => url) })
    await geth.fund(account.address)
    await pause(2_500)
    const fresh = await pay(account, () => {})
    report(proxies)
    return await judge(isOneOld ? 'geth forks, one node of three is old' : 'geth forks', account, fresh, geth)
  } finally {
    await rig.stop()
    await Promise.all(proxies.map((proxy) => proxy.stop()))
    await geth.stop()
  }
}

const oldRules: Liar = ({ method, params = [] }, honest) => {
  if (method === 'eth_estimateGas' && (params[0] as { data?: string }).data === undefined) return { result: '0x5208' }
  if (method === 'eth_call') return { result: '0x' }
  return method === 'eth_config' ? { result: { current: { activationTime: 0 }, next: null } } : honest()
}

async function invented(): Promise<boolean> {
  const rig = await startRig({ chain: { blockTime_s: 1 } })
  const fork = { factor: 1 }
  const lie = gasFork(rig.chain, fork)
  rig.proxy.setLiar(async ({ method, params = [] }) => {
    const said = await lie(method, params, async () => undefined)
    if (said instanceof Error) return { error: { code: -32_000, message: said.message } }
    return said === undefined ? undefined : { result: said }
  })
  try {
    const account = await rig.addAccount()
    const fresh = await pay(account, () => {
      fork.factor = 3
    })
    report(rig.proxies)
    return await judge('an invented fork triples all gas', account, fresh, rig.chain)
  } finally {
    await rig.stop()
  }
}

function report(proxies: FaultProxy[]): void {
  const total = (name: string) => proxies.reduce((sum, proxy) => sum + (proxy.counts()[name] ?? 0), 0)
  const named = ['eth_estimateGas', 'eth_call', 'eth_config', 'eth_sendRawTransaction'].map(
    (name) => `${name} ${(total(name) / count).toFixed(2)}`,
  )
  process.stdout.write(`calls of nodes per payout: ${named.join(', ')}\n`)
}

const parts = { geth: () => forks(false), old: () => forks(true), invented }
const wanted = process.argv.slice(2)
let isPassed = true
for (const [name, run] of Object.entries(parts)) {
  if (wanted.length === 0 || wanted.includes(name)) isPassed = (await run()) && isPassed
}
process.stdout.write(isPassed ? 'Passed.\n' : 'Failed.\n')
process.exit(isPassed ? 0 : 1)
