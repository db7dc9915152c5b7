import { useQuery } from '@tanstack/react-query'
import type { SendTransactionRequest, Transaction } from '../../index.ts'
import { amount, count } from '../data/format.ts'
import { useSymbolOf } from '../data/overview.ts'
import { isAboveCap, priceChange } from '../data/price-change.ts'
import { useSession } from '../data/session.tsx'
import { Loaded } from './feedback.tsx'
import { Figure } from './figure.tsx'
import { Price } from './price.tsx'

/** What a replacement with this body would pay, beside what the transaction pays now. `isOther`: it has another content, as a cancellation has. */
export function PriceChange({
  of: its,
  body,
  isOther,
}: {
  of: Transaction
  body: SendTransactionRequest
  isOther?: boolean
}) {
  const { client } = useSession()
  const symbol = useSymbolOf(its.relayer_id)
  const change = useQuery({
    queryKey: ['price change', its.id, body, isOther],
    queryFn: ({ signal }) => priceChange(client, isOther ? { ...its, gas_limit: null } : its, body, signal),
  })
  return (
    <Loaded query={change} lines={2}>
      {(found) => (
        <>
          <dl className="figures">
            <Figure name="Price at most now">
              <Price wei={found.price} />
            </Figure>
            <Figure name="Base fee">
              <Price wei={found.base_fee} />
            </Figure>
            <Figure name="New price at most">
              <Price wei={found.next} />
            </Figure>
            <Figure name="Price cap">{found.price_cap === null ? 'none' : <Price wei={found.price_cap} />}</Figure>
            <Figure name={isOther ? `Fee at most, for ${count(found.gas)} gas` : 'Fee at most'}>
              {amount(textOf(found.fee), symbol)}
            </Figure>
            {!isOther && <Figure name="More than now, at most">{amount(textOf(found.more), symbol)}</Figure>}
          </dl>
          {isAboveCap(found) && (
            <p className="problem">The price cap is below the price that nodes would take: nothing would change.</p>
          )}
        </>
      )}
    </Loaded>
  )
}

const textOf = (wei: bigint | null): string | null => wei?.toString() ?? null
