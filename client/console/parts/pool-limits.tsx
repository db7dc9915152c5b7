import type { Pool } from '../../index.ts'
import { amount } from '../data/format.ts'
import { useSymbols } from '../data/overview.ts'

/** The policies of a pool in words. */
export function PoolLimits({ pool: { network, policies } }: { pool: Pool }) {
  const symbol = useSymbols()(network)
  const { max_value_per_day, ...others } = policies
  const limits = [
    ...(max_value_per_day === undefined ? [] : [`at most ${amount(max_value_per_day, symbol)} per day`]),
    ...Object.keys(others),
  ]
  return limits.length === 0 ? 'none of its own' : limits.join(', ')
}
