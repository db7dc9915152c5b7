/** What a call of an ERC-20 token moves or gives leave to move, in the token's smallest units. */
export type TokenCall = { kind: 'counted'; amount: bigint } | { kind: 'malformed' } | { kind: 'other' }

/** The kinds of their arguments; the amount is the last. */
const counted: Record<string, ('address' | 'amount')[]> = {
  // transfer(address,uint256)
  '0xa9059cbb': ['address', 'amount'],
  // transferFrom(address,address,uint256)
  '0x23b872dd': ['address', 'address', 'amount'],
  // approve(address,uint256)
  '0x095ea7b3': ['address', 'amount'],
  // increaseAllowance(address,uint256), which OpenZeppelin's tokens have
  '0x39509351': ['address', 'amount'],
}
const word_digits = 64
const selector_digits = 10
const dirty_digits = 24

/**
 * Reads the data of a call. Strict: a token that is lenient with what is too short, too long, or has bytes before an address
 * might read another amount than the one that is counted here.
 */
export function readTokenCall(data: string | null): TokenCall {
  const kinds = counted[selectorOf(data) ?? '']
  if (data === null || !kinds) return { kind: 'other' }
  if (data.length !== selector_digits + kinds.length * word_digits) return { kind: 'malformed' }
  const words = kinds.map((_, index) => {
    const start = selector_digits + index * word_digits
    return data.slice(start, start + word_digits)
  })
  const isClean = kinds.every(
    (kind, index) => kind === 'amount' || /^0*$/.test(words[index]?.slice(0, dirty_digits) ?? '-'),
  )
  return isClean ? { kind: 'counted', amount: BigInt(`0x${words.at(-1)}`) } : { kind: 'malformed' }
}

/** The function that a call names; `0x` without data; undefined for one to three bytes, which name none. `data`: lower case. */
export function selectorOf(data: string | null): string | undefined {
  if (data === null || data === '0x') return '0x'
  return data.length >= selector_digits ? data.slice(0, selector_digits) : undefined
}
