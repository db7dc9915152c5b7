import { RelayerError, type Transaction } from '../../client/index.ts'
import type { Account, Rig } from '../support/rig.ts'
import { feeCapped, refusing } from './liars.ts'
import type { Outcome } from './outcome.ts'
import { blocks, letPass, recover } from './pace.ts'

const hourMs = 3_600_000
const gwei = 10n ** 9n
const mistakenPrice = 100_000n * gwei
/** Above the mistaken price: that a policy allows it is the point. */
export const wideCap = 2n * mistakenPrice

/** Nodes refuse whatever is sent for an hour, blocks go on, and price is not the cause. */
export async function refusedHour(rig: Rig, account: Account): Promise<Outcome> {
  rig.proxy.setLiar(refusing('internal error', -32_603))
  await account.send(2, { speed: 'average' })
  await account.send(2, { speed: 'fast' })
  await blocks(rig, 2)
  await account.noteSilence()
  await letPass(rig, hourMs, 120)
  await recover(rig, account)
  return outcomeOf(account, {}, 0)
}

/** The balance is 0 for four hours, and is then restored. */
export async function noFunds(rig: Rig, account: Account): Promise<Outcome> {
  rig.proxy.setLiar(refusing('internal error', -32_603))
  await account.send(2)
  await rig.chain.setBalance(account.address, 0n)
  rig.proxy.setLiar(undefined)
  await blocks(rig, 2)
  await account.noteSilence()
  await letPass(rig, 4 * hourMs, 120)
  await rig.chain.setBalance(account.address, 10n ** 21n)
  await recover(rig, account)
  return outcomeOf(account, {}, 0)
}

/** Without any policy a caller gives 400,000 times the price of the market. */
export async function absurdPrice(rig: Rig, account: Account): Promise<Outcome> {
  await account.send(1)
  let refused = 0
  try {
    await account.send(1, { gas_price: `${400_000n * gwei}` })
  } catch (error) {
    if (!(error instanceof RelayerError)) throw error
    refused += 1
  }
  await recover(rig, account)
  return outcomeOf(account, { taken: 1 - refused }, 0)
}

/** A price that nodes refuse: one is replaced by a lower one, the other is canceled. */
export async function refusedPrice(rig: Rig, account: Account): Promise<Outcome> {
  const { relayer_id } = account
  rig.proxy.setLiar(feeCapped)
  const [replaced, canceled] = await account.send(2, { gas_price: `${mistakenPrice}` })
  await blocks(rig, 4)
  await account.noteSilence()
  const rows = await account.transactions()
  const hidden = rows.filter(({ status_reason }) => !/configured cap/.test(status_reason ?? '')).length
  const notLowered = await replace(rig, relayer_id, replaced)
  await account.cancel(canceled?.id ?? '')
  await letPass(rig, hourMs / 4, 30)
  // The node's limit stays: the unfinished transactions are blocked permanently.
  if (!(await account.finishedWithin(10_000, rig.chain.mine))) await account.noteSilence()
  return outcomeOf(account, { hidden, not_lowered: notLowered }, 1)
}

/** 0 when it was replaced by the same at twice the market's price, which is far below the mistaken one; else 1. */
async function replace(rig: Rig, relayerId: string, row: Transaction | undefined): Promise<number> {
  const path = { relayer_id: relayerId, transaction_id: row?.id ?? '' }
  const market = BigInt(await rig.chain.rpc<string>('eth_gasPrice'))
  const body = { to: row?.to ?? '', value: row?.value ?? '', gas_price: `${2n * market}` }
  try {
    await rig.client().put('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', { path, body })
    return 0
  } catch (error) {
    if (!(error instanceof RelayerError)) throw error
    return 1
  }
}

/** One of two nodes permanently rejects transactions that the other one accepts. */
export async function oneRefuses(rig: Rig, account: Account): Promise<Outcome> {
  rig.proxies[1]?.setLiar(refusing('exceeds block gas limit'))
  for (let wave = 0; wave < 3; wave += 1) {
    await account.send(10)
    await blocks(rig, 4)
  }
  await blocks(rig, 8)
  await recover(rig, account)
  return outcomeOf(account, {}, 0)
}

async function outcomeOf(account: Account, faults: Record<string, number>, withdrawn: number): Promise<Outcome> {
  const score = await account.score()
  return { score, money: await account.money(), expected: { withdrawn }, faults, seen: { accepted: score.accepted } }
}
