import type { FundingStatus } from '../../generated/openapi.ts'
import { type CoinToken, unitOf } from './policies/token-calls.ts'
import type { Funding } from './rows.ts'
import { maxAmount } from './values.ts'

/** The funding of a relayer: its own, or that of a pool. */
export interface AppliedFunding {
  funding: Funding
  pool: { row_id: number; id: string } | null
}

const fine: FundingStatus[] = ['sufficient', 'refilling']

/** In the coin's unit where the asset is the token that is the coin too: one balance. */
export function asCoin(funding: Funding, coin: CoinToken): Funding {
  if (coin === null || funding.asset !== coin.address) return funding
  const inWei = (amount: string) => {
    const wei = BigInt(amount) * unitOf(coin)
    return `${wei < maxAmount ? wei : maxAmount}`
  }
  const { min_balance, target_balance, max_amount_per_day } = funding
  return {
    ...funding,
    asset: 'coin',
    min_balance: inWei(min_balance),
    target_balance: inWei(target_balance),
    max_amount_per_day: inWei(max_amount_per_day),
  }
}

/** Whether the relayer needs funds that it does not get. */
export const isBlocked = (state: FundingStatus): boolean => !fine.includes(state)

/** The asset under which refills are counted for their treasury: those of a relayer, or of all relayers that a pool funds. */
export const refillsOf = (relayerRowId: number, pool: { row_id: number } | null): string =>
  pool ? `refills pool ${pool.row_id}` : `refills ${relayerRowId}`

/** Whether a changed treasury leads back to its relayer. Both maps: from a relayer to the one that it gets its funds from. */
export function addsCircle(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): boolean {
  return [...after].some(([relayer, treasury]) => before.get(relayer) !== treasury && isAbove(relayer, treasury, after))
}

function isAbove(relayer: string, treasury: string, treasuries: ReadonlyMap<string, string>): boolean {
  const seen = new Set<string>()
  for (let next: string | undefined = treasury; next !== undefined && !seen.has(next); next = treasuries.get(next)) {
    if (next === relayer) return true
    seen.add(next)
  }
  return false
}
