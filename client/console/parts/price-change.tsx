import { useQuery } from '@tanstack/react-query'
import type { SendTransactionRequest, Transaction } from '../../index.ts'
import { amount, count } from '../data/format.ts'
import { useSymbolOf } from '../data/overview.ts'
import { isAboveCap, priceChange } from '../data/price-change.ts'
import { useSession } from '../data/session.tsx'
import { Loaded } from './feedback.tsx'
import { Figure } from './figure.tsx'
import { Price } from './price.tsx'

/** What a replacement with this body would pay, beside what the transaction pays now. `gas`: of another content, such as a cancellation. */
export function PriceChange({ of: its, body, gas }: { of: Transaction; body: SendTransactionRequest; gas?: number }) {
  const { client } = useSession()
  const symbol = useSymbolOf(its.relayer_id)
  const change = useQuery({
    queryKey: ['price change', its.id, body, gas],
    queryFn: ({ signal }) => priceChange(client, gas === undefined ? its : { ...its, gas_limit: gas }, body, signal),
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
            <Figure name={gas === undefined ? 'Fee at most' : `Fee at most, for ${count(gas)} gas`}>
              {amount(textOf(found.fee), symbol)}
            </Figure>
            {gas === undefined && <Figure name="More than now, at most">{amount(textOf(found.more), symbol)}</Figure>}
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
