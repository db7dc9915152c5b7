import type { Warning } from '../../../generated/openapi.ts'
import { gwei, most, quote } from '../../domain/fees.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import type { TransactionRequest } from '../../domain/transaction-request.ts'
import { isPriced } from './check-request.ts'
import { defaultTier, type TransactionQuote, unlimited } from './quote.ts'

/** The number of earlier transactions from which on the warning `long_queue` is given. */
const longQueue = 100

/** Warnings about an acceptable transaction: it may be mined late, or the next ones may be refused. */
export function warningsOf(
  { policies }: Pick<RelayerRow, 'policies'>,
  request: TransactionRequest,
  { prices, market, max_cost, reserved, balance, funds, latest, next_nonce, has_code }: TransactionQuote,
): Warning[] {
  const warnings: Warning[] = []
  const warn = (code: Warning['code'], message: string, waitingFor: Warning['waiting_for'] = null) =>
    warnings.push({ code, message, waiting_for: waitingFor })

  const price = most(prices)
  const { gas_price_cap, min_balance } = policies
  const baseFee = market.kind === 'eip1559' ? market.base_fee : 0n
  const isCapped = gas_price_cap !== undefined && BigInt(gas_price_cap) < baseFee
  if (market.kind === 'eip1559' && price < market.base_fee) {
    const message = `The price ${gwei(price)} is below the current base fee ${gwei(market.base_fee)}: it cannot be mined before the base fee falls`
    warn('price_below_base_fee', message, isCapped ? 'price_cap' : isPriced(request) ? 'fee_too_low' : 'base_fee')
  }
  if (isCapped) {
    const message = `The policy gas_price_cap (${gwei(gas_price_cap)}) is below the current base fee ${gwei(baseFee)}: the service cannot raise its price far enough`
    warn('cap_below_base_fee', message, 'price_cap')
  }
  const asked = most(quote(market, request.tier ?? defaultTier, prices.kind))
  if (gas_price_cap !== undefined && !isPriced(request) && asked > BigInt(gas_price_cap)) {
    warn(
      'price_limited_by_cap',
      `The price of its tier is ${gwei(asked)}, but the policy gas_price_cap allows only ${gwei(gas_price_cap)}`,
    )
  }
  if (balance === unlimited)
    warn('balance_not_checked', 'The network has the feature no_native_coin: what the account can pay is not checked')
  const left = funds - reserved - max_cost
  if (min_balance !== undefined && left < BigInt(min_balance)) {
    const message = `The balance may fall to ${left} wei; the policy min_balance refuses transactions below ${min_balance} wei`
    warn('low_balance_after', message)
  }
  const ahead = next_nonce - latest
  if (ahead >= longQueue) warn('long_queue', `${ahead} accepted transactions are ahead of it`, 'earlier_nonce')
  if (has_code) {
    const message =
      "The relayer's address has code (EIP-7702): nodes accept only one unfinished transaction of such an account"
    warn('account_has_code', message, 'node')
  }
  return warnings
}
