import { Interface } from 'ethers/abi'

const erc20 = new Interface([
  'function balanceOf(address owner) view returns (uint256)',
  'function transfer(address to, uint256 amount) returns (bool)',
])

/** The data of calls of an ERC-20 token (ERC-20, "Methods"). */
export const balanceOfCall = (owner: string): string => erc20.encodeFunctionData('balanceOf', [owner])
export const transferCall = (to: string, amount: bigint): string => erc20.encodeFunctionData('transfer', [to, amount])
