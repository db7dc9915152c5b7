import { Interface } from 'ethers/abi'

/** The predeployed contract of chains of the OP stack (specs.optimism.io, "Predeploys"). */
export const gas_price_oracle = '0x420000000000000000000000000000000000000f'

const oracle = new Interface([
  'function getL1FeeUpperBound(uint256 unsignedTxSize) view returns (uint256)',
  'function getL1Fee(bytes unsignedTx) view returns (uint256)',
  'function getOperatorFee(uint256 gasUsed) view returns (uint256)',
])

/** The highest fee for the data of a transaction of this unsigned length (since the fork Fjord). */
export const dataFeeCall = (bytes: number): string => oracle.encodeFunctionData('getL1FeeUpperBound', [bytes])

/**
 * The same before Fjord, when data was not counted as compressed: the fee of the dearest bytes of this length. Since Fjord it would be
 * too low.
 */
export const oldDataFeeCall = (bytes: number): string =>
  oracle.encodeFunctionData('getL1Fee', [new Uint8Array(bytes).fill(0xff)])

/** The fee of the chain's operator (since the fork Isthmus). */
export const operatorFeeCall = (gas: number): string => oracle.encodeFunctionData('getOperatorFee', [gas])
