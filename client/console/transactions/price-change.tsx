import { Price } from '../components/price.tsx'
import { Figures } from '../components/values.tsx'
import { amount, reasonText } from '../data/format.ts'
import { useSymbolOf } from '../data/resources.ts'
import type { PriceChangeFigures } from './change-figures.ts'

/** The figures of a change, and whether a block includes it at this base fee. */
export function PriceChange({ of: change, relayer_id }: { of: PriceChangeFigures | undefined; relayer_id: string }) {
  const symbol = useSymbolOf(relayer_id)
  if (!change) return null
  const { now, base_fee, allowed_max_fee_per_gas: cap, max_fee_per_gas: price } = change
  const { max_fee, extra_fee, is_mineable, reason, operation } = change
  return (
    <>
      <Figures
        of={{
          'Price at most now': now === null ? 'not signed' : <Price wei={now} />,
          'Base fee, next block': <Price wei={base_fee} />,
          'New price at most': price !== null && <Price wei={price} />,
          'Price cap': cap === null ? 'none' : <Price wei={cap} />,
          'Fee at most': max_fee !== null && amount(max_fee, symbol),
          'More than now, at most':
            operation === 'speedUpTransaction' && extra_fee !== null && amount(extra_fee, symbol),
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
