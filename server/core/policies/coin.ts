import type { Network } from '../../../generated/openapi.ts'
import { readTokenCall, type TokenCall } from './token-calls.ts'

/** The ERC-20 token that is the chain's coin too: one balance in two views. Null: there is none. */
export type CoinToken = Network['coin_token']

/** What moves the coin or a token. */
export interface Moving {
  to: string | null
  /** In wei. */
  value: string
  data: string | null
}

const coin_decimals = 18
/** transfer(address,uint256) */
const transfer = '0xa9059cbb'

/** The wei of the smallest unit of the token. */
export const unitOf = ({ decimals }: NonNullable<CoinToken>): bigint => 10n ** BigInt(coin_decimals - decimals)

const isCallOf = (coin: CoinToken, { to }: Moving): coin is NonNullable<CoinToken> =>
  coin !== null && coin.address === to

/** What a transaction moves of the coin, in wei, as its value and by a call of its token. Every limit of the coin counts this. */
export function coinMoved(coin: CoinToken, moving: Moving): bigint {
  const value = BigInt(moving.value)
  if (!isCallOf(coin, moving)) return value
  const call = readTokenCall(moving.data)
  return call.kind === 'counted' ? value + call.amount * unitOf(coin) : value
}

/** What it moves of a token, which may be the coin, in the token's smallest unit; undefined: it does not concern the token. */
export function tokenMoved(coin: CoinToken, token: string, moving: Moving): TokenCall | undefined {
  const call = moving.to === token ? readTokenCall(moving.data) : undefined
  if (coin?.address !== token || moving.value === '0') return call
  if (call && call.kind !== 'counted') return call
  const unit = unitOf(coin)
  return { kind: 'counted', amount: (call?.amount ?? 0n) + (BigInt(moving.value) + unit - 1n) / unit }
}

/** Whether a call of the coin's token moves what nothing counts. */
export const isUncounted = (coin: CoinToken, moving: Moving): boolean =>
  isCallOf(coin, moving) &&
  moving.data !== null &&
  moving.data !== '0x' &&
  readTokenCall(moving.data).kind !== 'counted'

/** What a call of the coin's token takes from the sender's balance, in wei, besides the value. */
export const coinSpentByCall = (coin: CoinToken, moving: Moving): bigint =>
  moving.data?.startsWith(transfer) ? coinMoved(coin, moving) - BigInt(moving.value) : 0n
