/**
 * A body as JSON. A bigint becomes a decimal string, which the contract accepts for every amount. Throws RangeError for an integer
 * that a number cannot hold exactly: its last digits may be wrong already.
 */
export const toJson = (body: unknown): string =>
  JSON.stringify(body, (name, value: unknown) => {
    if (typeof value === 'bigint') return value.toString()
    if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
      throw new RangeError(`${name}: ${value} is above Number.MAX_SAFE_INTEGER; pass a bigint or a decimal string`)
    return value
  })
