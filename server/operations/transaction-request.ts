import type { AmountInput, SendTransactionRequest } from '../../generated/openapi.ts'
import { badRequest } from '../errors.ts'
import { readAddress, readAmount, readTime } from './values.ts'

/** Normalizes a request. Throws ApiError (400) for faults that the contract's schema cannot express. */
export function readTransactionRequest(body: SendTransactionRequest) {
  const { gas_price, max_fee_per_gas, max_priority_fee_per_gas } = body
  const to = body.to == null ? null : readAddress(body.to, '/body/to')
  const data = readBytes(body.data)
  if (to === null && data === null)
    throw badRequest('/body/to', 'must be given when there is no data; only a contract creation has no receiver')
  if (gas_price != null && (max_fee_per_gas != null || max_priority_fee_per_gas != null)) {
    throw badRequest('/body/gas_price', 'must not be combined with max_fee_per_gas or max_priority_fee_per_gas')
  }
  const prices = {
    gas_price: readPrice(gas_price, 'gas_price'),
    max_fee_per_gas: readPrice(max_fee_per_gas, 'max_fee_per_gas'),
    max_priority_fee_per_gas: readPrice(max_priority_fee_per_gas, 'max_priority_fee_per_gas'),
  }
  const { max_fee_per_gas: most, max_priority_fee_per_gas: tip } = prices
  if (most !== null && tip !== null && BigInt(tip) > BigInt(most)) {
    throw badRequest('/body/max_priority_fee_per_gas', `must be at most max_fee_per_gas (${most})`)
  }
  return {
    to,
    data,
    ...prices,
    value: readAmount(body.value ?? '0', '/body/value'),
    gas_limit: body.gas_limit ?? null,
    tier: body.speed === 'safeLow' ? ('safe_low' as const) : (body.speed ?? null),
    valid_until: body.valid_until == null ? null : readTime(body.valid_until, '/body/valid_until'),
    reference: body.reference,
  }
}

const readPrice = (input: AmountInput | null | undefined, name: string): string | null =>
  input == null ? null : readAmount(input, `/body/${name}`)

/** Lower case with 0x; null when empty. */
function readBytes(input: string | null | undefined): string | null {
  const digits = (input ?? '').replace(/^0x/, '').toLowerCase()
  return digits === '' ? null : `0x${digits}`
}
