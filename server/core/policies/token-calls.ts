/**
 * A call of an ERC-20 token. `counted`: it transfers or approves `amount`, in the token's smallest unit. `malformed`: the arguments of
 * such a call are invalid. `other`: any other call.
 */
export type TokenCall = { kind: 'counted'; amount: bigint } | { kind: 'malformed' } | { kind: 'other' }

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
const word_digits = 64
const selector_digits = 10
const dirty_digits = 24

/**
 * Parses the data of a call (lower case hex). Data that is too short or too long, or an address with non-zero padding, is malformed,
 * because a lenient token might read an amount other than the one that is counted here.
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

/** The function selector of a call (lower case hex); `0x` without data; undefined for 1 to 3 bytes, which contain no selector. */
export function selectorOf(data: string | null): string | undefined {
  if (data === null || data === '0x') return '0x'
  return data.length >= selector_digits ? data.slice(0, selector_digits) : undefined
}
