import { setTimeout as pause } from 'node:timers/promises'
import { Wallet } from 'ethers'
import type { Account, Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'
import { countLiar, refusing, thief, withoutHistory } from './liars.ts'
import type { Outcome } from './outcome.ts'
import { blocks, letPass, recover } from './pace.ts'

/** Blocks during which nodes lie. */
const lyingBlocks = 40
export const confirmations = 2
const hourMs = 3_600_000
const gwei = 10n ** 9n

/** The only node reports each nonce as used by another transaction. One payment is requested, and must be paid once. */
export async function lyingNode(rig: Rig, account: Account): Promise<Outcome> {
  rig.proxy.setLiar(thief(account.address))
  await account.send(1)
  await blocks(rig, lyingBlocks)
  await recover(rig, account)
  return judged(account)
}

/** One of three nodes lies in this way while transactions are sent. */
export async function liarAmongThree(rig: Rig, account: Account, count: number): Promise<Outcome> {
  rig.proxies[1]?.setLiar(thief(account.address))
  for (let sent = 0; sent < count; sent += 4) {
    await account.send(4)
    await blocks(rig, 3)
  }
  await blocks(rig, lyingBlocks / 2)
  await recover(rig, account)
  return judged(account)
}

/** For a moment the node's count is wrong. What is sent before and after ends, and no nonce is filled. */
export async function falseCount(rig: Rig, account: Account, change: (count: number) => bigint): Promise<Outcome> {
  await account.send(1)
  await account.finished(rig.chain.mine)
  await account.send(2)
  rig.proxy.setLiar(countLiar(change))
  await pause(1_000)
  rig.proxy.setLiar(undefined)
  await blocks(rig, lyingBlocks)
  const client = rig.client()
  const path = { relayer_id: account.relayer_id }
  await client.post('/api/v1/relayers/{relayer_id}/nonce/reconcile', { path })
  await account.send(2)
  await recover(rig, account)
  return judged(account)
}

/** The key is used elsewhere, at a nonce that was given already, and no node has the state of old blocks. */
export async function nonceElsewhere(rig: Rig, _account: Account): Promise<Outcome> {
  const { chain, proxy } = rig
  const wallet = Wallet.createRandom()
  const account = await rig.addAccount({ key: wallet.privateKey })
  await chain.mine(200)
  const history = withoutHistory(chain, 5)
  const refuse = refusing('internal error', -32_603)
  proxy.setLiar(async (call, honest) => (await refuse(call, honest)) ?? history(call, honest))
  await account.send(1)
  await blocks(rig, 2)
  const foreign = await sendElsewhere(rig, wallet.privateKey, 0)
  await chain.mine(20)
  proxy.setLiar(history)
  await account.send(3)
  await blocks(rig, 8)
  const others = (await account.transactions()).slice(0, 3).filter(({ status }) => status === 'confirmed').length
  await account.noteSilence()
  await letPass(rig, 2 * hourMs, 60)
  // It was signed, so only a proof ends it: it says what it waits for, until the node has its history again.
  const waiting = (await account.transactions()).filter(({ wait_reason }) => wait_reason === 'uncertain_nonce')
  const unresolved = (await account.score()).unfinished - waiting.length
  proxy.setLiar(undefined)
  await letPass(rig, 120_000, 8)
  await recover(rig, account)
  return judged(account, { held_up: 3 - others, unresolved }, new Set([foreign]))
}

export type DeepReorg = 'at rest' | 'with a higher base fee' | 'with another transaction in its place'

/** A reorganization deeper than the confirmations, after all was confirmed. */
export async function deepReorg(rig: Rig, _account: Account, kind: DeepReorg): Promise<Outcome> {
  const { chain } = rig
  const wallet = Wallet.createRandom()
  const account = await rig.addAccount({ key: wallet.privateKey })
  await chain.mine(10)
  await account.send(3)
  await account.finished(chain.mine)
  await chain.reorg(8)
  const foreign = new Set<string>()
  if (kind === 'with another transaction in its place') foreign.add(await sendElsewhere(rig, wallet.privateKey, 0))
  const mine = async () => {
    if (kind === 'with a higher base fee') await chain.setBaseFee(20n * gwei)
    await chain.mine()
  }
  await mine()
  if (kind === 'with a higher base fee') await account.send(1)
  await letPass(rig, hourMs, 40, mine)
  await recover(rig, account, mine)
  return judged(account, {}, foreign)
}

/** Sends a transaction directly to the chain, and waits until it is mined. Resolves to its hash. */
async function sendElsewhere({ chain }: Rig, key: string, nonce: number): Promise<string> {
  const wallet = new Wallet(key)
  const raw = await wallet.signTransaction({
    type: 2,
    chainId: chain.chain_id,
    nonce,
    to: `0x${'0e'.repeat(20)}`,
    value: 7n,
    gasLimit: 21_000n,
    maxFeePerGas: 100n * gwei,
    maxPriorityFeePerGas: 2n * gwei,
  })
  const hash = await chain.rpc<string>('eth_sendRawTransaction', [raw])
  await until('it is in a block', async () => (await receiptOf(chain, hash)) !== null, chain.mine)
  return hash
}

const receiptOf = (chain: Rig['chain'], hash: string) => chain.rpc('eth_getTransactionReceipt', [hash])

/** Transactions that failed with a stated reason count as withdrawn. */
async function judged(
  account: Account,
  faults: Record<string, number> = {},
  foreign: ReadonlySet<string> = new Set(),
): Promise<Outcome> {
  const score = await account.score(foreign)
  const unexplained = (await account.transactions()).filter(
    ({ status, status_reason }) => status === 'failed' && status_reason === null,
  ).length
  return {
    score,
    money: await account.money(foreign),
    expected: { withdrawn: score.withdrawn },
    faults: { ...faults, unexplained },
    seen: { accepted: score.accepted },
  }
}
