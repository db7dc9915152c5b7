import { word } from './words.ts'

/** The predeployed contract of chains of the OP stack (specs.optimism.io, "Predeploys"). */
export const gas_price_oracle = '0x420000000000000000000000000000000000000f'

/** getL1FeeUpperBound(uint256): the highest fee for the data of a transaction of this unsigned length (since the fork Fjord). */
export const dataFeeCall = (bytes: number): string => `0xf1c7a58b${word(bytes)}`

/**
 * getL1Fee(bytes): the same before Fjord, when data was not counted as compressed: the fee of the dearest bytes of this length. Since
 * Fjord it would be too low.
 */
export const oldDataFeeCall = (bytes: number): string =>
  `0x49948e0e${word(32)}${word(bytes)}${'ff'.repeat(bytes)}${'00'.repeat(-bytes & 31)}`

/** getOperatorFee(uint256): the fee of the chain's operator (since the fork Isthmus). */
export const operatorFeeCall = (gas: number): string => `0x275aedd2${word(gas)}`
