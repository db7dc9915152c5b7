import { word } from './words.ts'

/** The data of calls of an ERC-20 token (ERC-20, "Methods"): balanceOf(address) and transfer(address,uint256). */
export const balanceOfCall = (owner: string): string => `0x70a08231${word(owner)}`
export const transferCall = (to: string, amount: bigint): string => `0xa9059cbb${word(to)}${word(amount)}`
