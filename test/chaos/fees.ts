import { readLedger, type SignedFees } from '../support/ledger.ts'
import type { Account, Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'
import type { Outcome } from './outcome.ts'

/** Longer than the tier `average` waits for a block before it pays more. */
const patienceMs = 130_000
const spike = 10n
const gwei = 10n ** 9n
const baseFee = gwei
/** Above the price before the spike, and below the base fee of the spike. */
export const cap = 5n * gwei

/**
 * While `count` transactions are pending, the base fee grows tenfold, and stays there until all are mined at a higher price. For an
 * account with a cap, it stays until each has a status reason and `count` more are accepted, and then falls.
 */
export async function feeSpike(rig: Rig, account: Account, count: number, capped: boolean): Promise<Outcome> {
  const { chain, clock } = rig
  const mineAt = async (wei: bigint) => {
    await chain.setBaseFee(wei)
    await chain.mine()
  }
  const wait = () => {
    clock.ahead_ms += patienceMs
    return mineAt(baseFee * spike)
  }

  await mineAt(baseFee)
  await account.send(count)
  const inFlight = async () => (await account.transactions()).filter(({ status }) => status === 'submitted').length
  await until('the node has all', async () => (await inFlight()) === count)
  await wait()
  if (capped) {
    const waiting = async () =>
      (await account.transactions()).filter(({ status_reason }) => isAtCap(status_reason)).length
    await until('all wait at the cap', async () => (await waiting()) === count, wait)
    await account.send(count)
    await until('the later ones wait too', async () => (await waiting()) === 2 * count, wait)
    await account.finished(() => mineAt(baseFee))
  } else {
    await account.finished(wait)
  }

  const fees = [...(await readLedger(rig)).fees.values()]
  const bumps = fees.flatMap(bumpsOf)
  return {
    score: await account.score(),
    money: await account.money(),
    faults: {
      too_small_bumps: bumps.filter(([before, after]) => !isEnough(before, after)).length,
      above_cap: capped ? fees.flat().filter(({ most }) => most > cap).length : 0,
    },
    seen: { bumps: bumps.length },
  }
}

const isAtCap = (reason: string | null) => reason?.includes('gas_price_cap') ?? false

/** Each version with every earlier one that a node accepted: its price must exceed these. */
const bumpsOf = (signed: SignedFees[]) =>
  signed.flatMap((after, index) =>
    signed
      .slice(0, index)
      .filter(({ taken }) => taken)
      .map((before) => [before, after] as const),
  )

const isEnough = (before: SignedFees, after: SignedFees) =>
  after.most * 10n >= before.most * 11n && after.tip * 10n >= before.tip * 11n
