/** A number or an address as 32 bytes of call data (contract ABI specification), hex without 0x. */
export const word = (value: number | bigint | string): string =>
  (typeof value === 'string' ? value.replace(/^0x/, '') : value.toString(16)).padStart(64, '0')

/** The data of calls of an ERC-20 token (ERC-20, "Methods"): balanceOf(address) and transfer(address,uint256). */
export const balanceOfCall = (owner: string): string => `0x70a08231${word(owner)}`
export const transferCall = (to: string, amount: bigint): string => `0xa9059cbb${word(to)}${word(amount)}`

/** The predeployed contract of chains of the OP stack (specs.optimism.io, "Predeploys"). */
export const gasPriceOracle = '0x420000000000000000000000000000000000000f'

/** A part of a transaction's fee besides that of its gas. */
export interface FeePart {
  /** The calls of the oracle that tell it, of the newest fork first. `bytes`: of the unsigned transaction. */
  calls(about: { bytes: number; gas: number }): string[]
  /** Chains before its fork have none. */
  isOptional: boolean
  /** The member of a receipt that is the paid amount. */
  amount?: string
  /** Members of a receipt one of which is above 0 where the part is charged. The oracle tells it for the used gas: forks change how. */
  factors?: string[]
}

/** getL1FeeUpperBound(uint256): the highest fee for the data of a transaction of this unsigned length (since the fork Fjord). */
const dataFeeCall = (bytes: number): string => `0xf1c7a58b${word(bytes)}`

/**
 * getL1Fee(bytes): the same before Fjord, when data was not counted as compressed: the fee of the dearest bytes of this length. Since
 * Fjord it would be too low.
 */
const oldDataFeeCall = (bytes: number): string =>
  `0x49948e0e${word(32)}${word(bytes)}${'ff'.repeat(bytes)}${'00'.repeat(-bytes & 31)}`

/** getOperatorFee(uint256): the fee of the chain's operator (since the fork Isthmus). */
const operatorFeeCall = (gas: number): string => `0x275aedd2${word(gas)}`

/** All parts: estimates and receipts count the same ones. */
export const feeParts: FeePart[] = [
  { calls: ({ bytes }) => [dataFeeCall(bytes), oldDataFeeCall(bytes)], isOptional: false, amount: 'l1Fee' },
  {
    calls: ({ gas }) => [operatorFeeCall(gas)],
    isOptional: true,
    factors: ['operatorFeeScalar', 'operatorFeeConstant'],
  },
]
