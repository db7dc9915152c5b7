import type { TransactionOption } from '../../../generated/openapi.ts'
import { highestTaken, nextPrices, type PricedAttempt } from '../../domain/attempts.ts'
import {
  gwei,
  isPayable,
  type Market,
  minReplacementFee,
  most,
  noCeiling,
  type PriceKind,
  type Prices,
  priceByTier,
  pricesOf,
  type Tier,
  under,
} from '../../domain/fees.ts'
import { capOf, feeOf, marketRule } from '../../domain/policies/fee-policies.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import { kindFor, withdrawalTier } from '../../domain/signature-plan.ts'
import { isUnmined } from '../../domain/statuses.ts'
import { priceKindOf } from '../../domain/transaction-form.ts'
import type { TransactionRow } from '../../domain/transaction-rows.ts'

/** What the price of another version depends on. */
interface ChangeFacts {
  relayer: RelayerRow
  attempts: PricedAttempt[]
  /** Undefined when no node answers. */
  market: Market | undefined
  /** Of the transfer that uses the nonce of a canceled transaction; undefined when no node tells. */
  transfer_gas: number | undefined
  /** The highest price that the caller would allow, in wei; undefined: only the policies limit it. */
  max_fee_per_gas: string | undefined
}

const speeds = ['safe_low', 'average', 'fast', 'fastest'] as const

/** At which prices a transaction in no block would be signed now: again at each tier, and as a cancellation. Pure. */
export function optionsOf(row: TransactionRow, facts: ChangeFacts): TransactionOption[] {
  if (!isUnmined(row.status) || row.block_hash !== null) return []
  // Of a cancellation, the price for which its ceiling would have to be raised.
  if (row.intent !== 'send')
    return row.intent === 'cancel' && row.fee_ceiling !== null ? [cancellation(row, facts)] : []
  const faster = row.sponsored ? [] : speeds.map((speed) => speedUpAt(row, speed, facts))
  return [...faster, cancellation(row, facts)]
}

function speedUpAt(row: TransactionRow, speed: Tier, facts: ChangeFacts): TransactionOption {
  const gas = row.gas_limit ?? 0
  const its = { operation: 'speedUpTransaction', speed } as const
  if (facts.relayer.paused) return { ...its, ...none('the relayer is paused') }
  const change = priced(row, facts, { tier: speed, kind: priceKindOf(row.type), gas })
  const signed = row.hash === null ? undefined : pricesOf(row)
  const { max_fee_per_gas } = change
  if (max_fee_per_gas !== null && signed && BigInt(max_fee_per_gas) <= most(signed))
    return { ...its, ...none(`its price would stay at ${gwei(most(signed))}`) }
  return { ...its, ...change }
}

function cancellation(row: TransactionRow, facts: ChangeFacts): TransactionOption {
  const { transfer_gas: gas, relayer, attempts } = facts
  const kind = highestTaken(attempts, row.nonce)?.kind ?? kindFor(relayer)
  const its = { operation: 'cancelTransaction', speed: withdrawalTier } as const
  if (row.status === 'pending')
    return { ...its, ...none('it is not signed yet: the one with the highest nonce ends at once, without a fee', null) }
  if (gas === undefined) return { ...its, ...none('no node tells the gas of the transfer that replaces it', null) }
  return { ...its, ...priced(row, facts, { tier: withdrawalTier, kind, gas }) }
}

type Figures = Omit<TransactionOption, 'operation' | 'speed'>

const none = (reason: string, isMineable: boolean | null = false): Figures => ({
  max_fee_per_gas: null,
  max_fee: null,
  extra_fee: null,
  is_mineable: isMineable,
  reason,
})

function priced(
  row: TransactionRow,
  { relayer, attempts, market, max_fee_per_gas }: ChangeFacts,
  { tier, kind, gas }: { tier: Tier; kind: PriceKind | undefined; gas: number },
): Figures {
  if (!market) return none('no node of its network tells a price', null)
  const dataFee = BigInt(row.data_fee ?? 0)
  const cap = capOf(relayer, gas, dataFee)
  const asked = max_fee_per_gas === undefined ? noCeiling : { ...noCeiling, fee: BigInt(max_fee_per_gas) }
  const ceiling = under(asked, cap)
  const prices = nextPrices(attempts, row.nonce, priceByTier(market, tier, kind), ceiling)
  if (!prices) {
    const least = minReplacementFee(highestTaken(attempts, row.nonce) as Prices, kind)
    const allowed = ceiling.fee as bigint
    const whose = allowed === cap ? 'the policies allow' : 'max_fee_per_gas is'
    return none(`nodes would take ${gwei(most(least))}, and ${whose} at most ${gwei(allowed)}`)
  }
  const [above] = marketRule(relayer, prices, market)
  if (above) return none(above.message)
  const fee = feeOf({ gas_limit: gas, prices, data_fee: dataFee })
  const now = pricesOf(row)
  const before = now ? feeOf({ gas_limit: row.gas_limit ?? gas, prices: now, data_fee: dataFee }) : 0n
  const isMineable = isPayable(prices, market)
  return {
    max_fee_per_gas: `${most(prices)}`,
    max_fee: `${fee}`,
    extra_fee: `${fee > before ? fee - before : 0n}`,
    is_mineable: isMineable,
    reason:
      isMineable || market.kind === 'legacy'
        ? null
        : `the base fee is ${gwei(market.base_fee)}, above ${gwei(most(prices))}`,
  }
}
