import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import type {
  Explanation,
  RelayerClient,
  SendDataRequest,
  SendTransactionRequest,
  Speed,
  SpeedUpRequest,
  Transaction,
} from '../../index.ts'
import { Loaded } from '../components/feedback.tsx'
import { Figures, Price } from '../components/values.tsx'
import { amount, count } from '../data/format.ts'
import { useSymbolOf } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'

interface PriceChangeProps {
  of: Transaction
  body: SendTransactionRequest
  isOther?: boolean
  /** Gets the figures that are shown; undefined: none are. */
  shown?: (figures: PriceFigures | undefined) => void
}

/** What a replacement with this body would pay, beside what the transaction pays now. `isOther`: it has another content, as a cancellation has. */
export function PriceChange({ of: its, body, isOther, shown }: PriceChangeProps) {
  const { client } = useSession()
  const symbol = useSymbolOf(its.relayer_id)
  const change = useQuery({
    queryKey: ['price figures', its.id, body, isOther],
    queryFn: ({ signal }) => priceChange(client, isOther ? { ...its, gas_limit: null } : its, body, signal),
  })
  useEffect(() => shown?.(change.data), [change.data, shown])
  return (
    <Loaded query={change} lines={2}>
      {(found) => (
        <>
          <Figures
            of={{
              'Price at most now': <Price wei={found.price} />,
              'Base fee': <Price wei={found.base_fee} />,
              'New price at most': <Price wei={found.next} />,
              'Price cap': found.price_cap === null ? 'none' : <Price wei={found.price_cap} />,
              [isOther ? `Fee at most, for ${count(found.gas)} gas` : 'Fee at most']: amount(textOf(found.fee), symbol),
              'More than now, at most': !isOther && amount(textOf(found.more), symbol),
            }}
          />
          {isAboveCap(found) && (
            <p className="problem">The price cap is below the price that nodes would take: nothing would change.</p>
          )}
        </>
      )}
    </Loaded>
  )
}

const textOf = (wei: bigint | null): string | null => wei?.toString() ?? null

const base = '/api/v1/relayers/{relayer_id}/transactions'

/** What a replacement would pay beside what the transaction pays now: prices per unit of gas and amounts, in wei. Null: unknown. */
export interface PriceFigures {
  status: Explanation['status']
  price: bigint | null
  base_fee: bigint | null
  price_cap: bigint | null
  next: bigint | null
  /** The gas limit of the replacement. */
  gas: number
  /** The highest fee of the replacement. */
  fee: bigint | null
  /** How much more than now that is at most. */
  more: bigint | null
}

/** The same transaction at another price: only to ask for its figures. */
export const again = (its: Transaction, speed: Speed): SendDataRequest => {
  const { to, value, data, gas_limit, access_list, authorization_list } = its
  return { to, value, data, gas_limit, access_list, authorization_list, speed }
}

/** The price of a replacement, which is signed at it. */
export function priceOf({ gas_price }: Transaction, figures: PriceFigures | undefined): SendDataRequest {
  const price = figures?.next?.toString()
  if (price === undefined) return {}
  return gas_price === null ? { max_fee_per_gas: price } : { gas_price: price }
}

/** Why a new price cannot be confirmed yet. */
export const lackOfPrice = (figures: PriceFigures | undefined): string | undefined =>
  figures?.next == null ? 'The price is not known yet.' : undefined

/** The price that the reader has seen is the highest that is signed. */
export const speedUpTo = (speed: Speed, { next }: Pick<PriceFigures, 'next'>): SpeedUpRequest => ({
  speed,
  ...(next !== null && { max_fee_per_gas: next.toString() }),
})

/** Asks the service for the prices of a replacement with this body. */
export async function priceChange(
  client: RelayerClient,
  { relayer_id, id, hash, gas_limit }: Transaction,
  body: SendTransactionRequest,
  signal?: AbortSignal,
): Promise<PriceFigures> {
  const path = { relayer_id }
  const how = signal ? { signal } : {}
  const [now, asked] = await Promise.all([
    client.get('/api/v1/transactions/{transaction_id}/explanation', { path: { transaction_id: id }, ...how }),
    client.post(`${base}/dry-run`, { path, body, ...how }),
  ])
  const { figures, status } = now.data
  const price = inWei(figures.price)
  const wanted = inWei(asked.data.gas_price ?? asked.data.max_fee_per_gas)
  // Nodes take a replacement only at a price that is higher by a tenth.
  const least = hash === null || price === null ? 0n : (price * 11n + 9n) / 10n
  const next = wanted === null ? null : wanted > least ? wanted : least
  const gas = BigInt(gas_limit ?? asked.data.gas_limit ?? 0)
  return {
    status,
    price,
    base_fee: inWei(figures.base_fee),
    price_cap: inWei(figures.price_cap),
    next,
    gas: Number(gas),
    fee: next === null ? null : next * gas,
    more: next === null ? null : next > (price ?? 0n) ? (next - (price ?? 0n)) * gas : 0n,
  }
}

const inWei = (text: string | null): bigint | null => (text === null ? null : BigInt(text))

export const isAboveCap = ({ next, price_cap }: PriceFigures): boolean =>
  next !== null && price_cap !== null && next > price_cap
