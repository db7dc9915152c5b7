import { CommandError } from './exit-codes.ts'

const decimals = { wei: 0, gwei: 9, ether: 18 } as const

export type Unit = keyof typeof decimals
export const units = Object.keys(decimals) as Unit[]

/** The smallest units of a token from a decimal number of tokens. */
export function readUnits(input: string, places: number): bigint {
  const [, whole = '', fraction = ''] = /^(\d{1,78})(?:\.(\d{1,77}))?$/.exec(input) ?? []
  if (whole === '' || fraction.length > places)
    throw new CommandError(`An amount must be a number with at most ${places} decimals; it is ${input}`)
  return BigInt(whole + fraction.padEnd(places, '0'))
}

/** Wei from `1000`, `2.5gwei` or `0.1ether`. `plain`: the unit of a number without one. */
export function readWei(input: string, plain: Unit = 'wei'): bigint {
  const match = /^(\d{1,78})(?:\.(\d{1,18}))?\s?(wei|gwei|ether)?$/.exec(input)
  const [, whole = '', fraction = '', unit = plain] = match ?? []
  const places = decimals[unit as Unit]
  if (!match || fraction.length > places)
    throw new CommandError(
      `An amount must be in wei or have a unit, for example 1000, 2.5gwei or 0.1ether; it is ${input}`,
    )
  return BigInt(whole + fraction.padEnd(places, '0'))
}

/** Wei per unit of gas, for people. */
export const inGwei = (wei: string): string => `${inUnits(wei, decimals.gwei)} gwei`

/** All digits of an amount of the coin of a network; null: the network has no symbol for it, and the unit is that of --value. */
export const inCoins = (wei: string, symbol: string | null): string =>
  `${inUnits(wei, decimals.ether)} ${symbol ?? 'ether'}`

/** A sentence of the service with its amounts in coins. Prices are in gwei already. */
export const withCoins = (text: string, symbol: string | null): string =>
  text.replaceAll(/\b(\d{10,}) wei\b/g, (_, wei: string) => inCoins(wei, symbol))

function inUnits(wei: string, places: number): string {
  const digits = wei.padStart(places + 1, '0')
  const fraction = digits.slice(-places).replace(/0+$/, '')
  return `${digits.slice(0, -places)}${fraction && `.${fraction}`}`
}
