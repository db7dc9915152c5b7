import type { FundingStatus } from '../../generated/openapi.ts'
import type { Funding } from './rows.ts'

/** The funding of a relayer: its own, or that of a pool. */
export interface AppliedFunding {
  funding: Funding
  pool: { row_id: number; id: string } | null
}

const fine: FundingStatus[] = ['sufficient', 'refilling']

/** Whether the relayer needs funds that it does not get. */
export const isBlocked = (state: FundingStatus): boolean => !fine.includes(state)

/** The asset under which refills are counted for their treasury: those of a relayer, or of all relayers that a pool funds. */
export const refillsOf = (relayer_row_id: number, pool: { row_id: number } | null): string =>
  pool ? `refills pool ${pool.row_id}` : `refills ${relayer_row_id}`
