import { useQuery } from '@tanstack/react-query'
import type { SendTransactionRequest, Transaction } from '../../index.ts'
import { amount, gwei } from '../data/format.ts'
import { useSymbolOf } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Loaded } from './feedback.tsx'
import { Figure } from './figure.tsx'

const base = '/api/v1/relayers/{relayer_id}/transactions'

/** What a replacement with this body would pay, beside what the transaction pays now. */
export function PriceChange({ of: its, body }: { of: Transaction; body: SendTransactionRequest }) {
  const { client } = useSession()
  const symbol = useSymbolOf(its.relayer_id)
  const path = { relayer_id: its.relayer_id }
  const prices = useQuery({
    queryKey: ['price change', its.id, body],
    queryFn: async ({ signal }) => {
      const [now, asked] = await Promise.all([
        client.get(`${base}/{transaction_id}/explanation`, { path: { ...path, transaction_id: its.id }, signal }),
        client.post(`${base}/dry-run`, { path, body, signal }),
      ])
      return { figures: now.data.figures, asked: asked.data }
    },
  })
  return (
    <Loaded query={prices} lines={2}>
      {({ figures: { price, base_fee, price_cap }, asked }) => {
        const wanted = asked.gas_price ?? asked.max_fee_per_gas
        // Nodes take a replacement only at a price that is higher by a tenth.
        const least = its.hash === null || price === null ? 0n : (BigInt(price) * 11n + 9n) / 10n
        const next = wanted === null ? undefined : BigInt(wanted) > least ? BigInt(wanted) : least
        const isAbove = next !== undefined && price_cap !== null && next > BigInt(price_cap)
        const cost = next === undefined ? null : next * BigInt(its.gas_limit ?? asked.gas_limit ?? 0)
        return (
          <>
            <dl className="figures">
              <Price name="Highest price now" wei={price} />
              <Price name="Base fee" wei={base_fee} />
              <Price name="New highest price" wei={next?.toString() ?? null} />
              <Price name="Limit of the policies" wei={price_cap} none="none" />
              <Figure name="Fee at most">{cost === null ? 'unknown' : amount(cost.toString(), symbol)}</Figure>
            </dl>
            {isAbove && (
              <p className="problem">
                The limit of the policies is below the price that nodes would take: nothing would change.
              </p>
            )}
          </>
        )
      }}
    </Loaded>
  )
}

const Price = ({ name, wei, none = 'unknown' }: { name: string; wei: string | null; none?: string }) => (
  <Figure name={name}>{wei === null ? none : `${gwei(wei)} gwei`}</Figure>
)
