import type { Explanation, Speed, SpeedUpRequest, TransactionChange } from '../../index.ts'
import { Figures, Price } from '../components/values.tsx'
import { amount, reasonText } from '../data/format.ts'
import { useSymbolOf } from '../data/resources.ts'

export type Operation = TransactionChange['operation']

/** What another version would pay beside what the transaction pays now, as the service says it. */
export interface PriceChangeFigures extends TransactionChange {
  /** The highest price of the present version. */
  now: string | null
  base_fee: string | null
  price_cap: string | null
}

/** Undefined: the transaction cannot be changed so any more. */
export function changeIn(
  { changes, figures: { price, base_fee, price_cap } }: Explanation,
  operation: Operation,
  speed: Speed,
): PriceChangeFigures | undefined {
  const change = changes.find((one) => one.operation === operation && (one.speed === speed || operation !== speedUp))
  return change && { ...change, now: price, base_fee, price_cap }
}

const speedUp: Operation = 'speedUpTransaction'

/** Why a change cannot be confirmed. A cancellation of what was never signed signs nothing either. */
export function lackOfChange(change: PriceChangeFigures | undefined, isCancellation = false): string | undefined {
  if (change === undefined) return 'It can no longer be changed.'
  return change.price === null && !isCancellation ? 'Nothing would be signed.' : undefined
}

/** The price that the reader has seen is the highest that is signed. */
export const speedUpTo = (speed: Speed, { price }: Pick<TransactionChange, 'price'>): SpeedUpRequest => ({
  speed,
  ...(price !== null && { max_fee_per_gas: price }),
})

/** The same for a cancellation. One that is never signed has no price. */
export const cancelTo = (change: Pick<TransactionChange, 'price'> | undefined): { max_fee_per_gas?: string } =>
  change?.price == null ? {} : { max_fee_per_gas: change.price }

/** The figures of a change, and whether a block includes it at this base fee. */
export function PriceChange({ of: change, relayer_id }: { of: PriceChangeFigures | undefined; relayer_id: string }) {
  const symbol = useSymbolOf(relayer_id)
  if (!change) return null
  const { now, base_fee, price_cap, price, max_fee, extra_fee, is_mineable, reason, operation } = change
  return (
    <>
      <Figures
        of={{
          'Price at most now': now === null ? 'not signed' : <Price wei={now} />,
          'Base fee, next block': <Price wei={base_fee} />,
          'New price at most': price !== null && <Price wei={price} />,
          'Price cap': price_cap === null ? 'none' : <Price wei={price_cap} />,
          'Fee at most': max_fee !== null && amount(max_fee, symbol),
          'More than now, at most': operation === speedUp && extra_fee !== null && amount(extra_fee, symbol),
        }}
      />
      {reason !== null && (
        <p className={is_mineable === false ? 'problem' : 'hint'}>
          {is_mineable === false && (price === null ? 'Nothing would be signed: ' : 'No block would include it now: ')}
          {reasonText(reason, symbol)}.
        </p>
      )}
    </>
  )
}
