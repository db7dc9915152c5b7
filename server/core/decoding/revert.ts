import { ParamType } from 'ethers/abi'
import { decodeAbi } from './abi.ts'

/** The errors that Solidity defines: Error(string) and Panic(uint256). */
export type Revert = { error: string } | { panic: bigint }

const text = [ParamType.from('string')]
const code = [ParamType.from('uint256')]

/** Undefined for any other error, and for malformed ones. `hex`: lower case, with 0x. */
export function decodeRevert(hex: string): Revert | undefined {
  try {
    if (hex.startsWith('0x08c379a0')) return { error: decodeAbi(text, hex.slice(10))[0] as string }
    if (hex.startsWith('0x4e487b71')) return { panic: BigInt(decodeAbi(code, hex.slice(10))[0] as string) }
    return undefined
  } catch {
    return undefined
  }
}
