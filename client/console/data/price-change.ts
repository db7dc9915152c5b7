import type { Explanation, RelayerClient, SendTransactionRequest, Transaction } from '../../index.ts'

const base = '/api/v1/relayers/{relayer_id}/transactions'

/** What a replacement would pay beside what the transaction pays now: prices per unit of gas and amounts, in wei. Null: unknown. */
export interface PriceChange {
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

/** Asks the service for the prices of a replacement with this body. */
export async function priceChange(
  client: RelayerClient,
  { relayer_id, id, hash, gas_limit }: Transaction,
  body: SendTransactionRequest,
  signal?: AbortSignal,
): Promise<PriceChange> {
  const path = { relayer_id }
  const how = signal ? { signal } : {}
  const [now, asked] = await Promise.all([
    client.get(`${base}/{transaction_id}/explanation`, { path: { ...path, transaction_id: id }, ...how }),
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

export const isAboveCap = ({ next, price_cap }: PriceChange): boolean =>
  next !== null && price_cap !== null && next > price_cap
