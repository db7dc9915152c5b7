import type { Network } from '../../../generated/openapi.ts'

/**
 * A call of an ERC-20 token. `counted`: it transfers or approves `amount`, in the token's smallest unit, to or for `receiver`. `malformed`:
 * the arguments of such a call are invalid. `other`: any other call.
 */
type TokenCall = { kind: 'counted'; amount: bigint; receiver?: string } | { kind: 'malformed' } | { kind: 'other' }

/** The arguments of each counted function; the amount is the last. */
const counted: Record<string, ('address' | 'amount')[]> = {
  // transfer(address,uint256)
  '0xa9059cbb': ['address', 'amount'],
  // transferFrom(address,address,uint256)
  '0x23b872dd': ['address', 'address', 'amount'],
  // approve(address,uint256)
  '0x095ea7b3': ['address', 'amount'],
  // increaseAllowance(address,uint256), an extension of OpenZeppelin's tokens
  '0x39509351': ['address', 'amount'],
}
const wordDigits = 64
const selectorDigits = 10
const dirtyDigits = 24

/**
 * Parses the data of a call (lower case hex). Data that is too short or too long, or an address with non-zero padding, is malformed,
 * because a lenient token might read an amount other than the one that is counted here.
 */
export function readTokenCall(data: string | null): TokenCall {
  const kinds = counted[selectorOf(data) ?? '']
  if (data === null || !kinds) return { kind: 'other' }
  if (data.length !== selectorDigits + kinds.length * wordDigits) return { kind: 'malformed' }
  const words = kinds.map((_, index) => {
    const start = selectorDigits + index * wordDigits
    return data.slice(start, start + wordDigits)
  })
  const isClean = kinds.every(
    (kind, index) => kind === 'amount' || /^0*$/.test(words[index]?.slice(0, dirtyDigits) ?? '-'),
  )
  if (!isClean) return { kind: 'malformed' }
  const receiver = `0x${words.at(-2)?.slice(dirtyDigits)}`
  return { kind: 'counted', amount: BigInt(`0x${words.at(-1)}`), receiver }
}

/** The function selector of a call (lower case hex); `0x` without data; undefined for 1 to 3 bytes, which contain no selector. */
export function selectorOf(data: string | null): string | undefined {
  if (data === null || data === '0x') return '0x'
  return data.length >= selectorDigits ? data.slice(0, selectorDigits) : undefined
}

/** The ERC-20 token that is the chain's coin too: one balance in two views. Null: there is none. */
export type CoinToken = Network['coin_token']

/** What moves the coin or a token. */
export interface Moving {
  to: string | null
  /** In wei. */
  value: string
  data: string | null
}

const coinDecimals = 18
/** transfer(address,uint256) */
const transfer = '0xa9059cbb'

/** The wei of the smallest unit of the token. */
export const unitOf = ({ decimals }: NonNullable<CoinToken>): bigint => 10n ** BigInt(coinDecimals - decimals)

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
