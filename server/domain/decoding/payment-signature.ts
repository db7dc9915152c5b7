import { ParamType } from 'ethers/abi'
import { decodeAbi, encodeAbi } from './abi.ts'

/** The call that makes the account of a payer who has none yet (ERC-6492). `factory`: in lower case. */
export interface Deployment {
  factory: string
  data: string
}

const typesOf = (...types: string[]) => types.map((type) => ParamType.from(type))

/** ERC-6492: the last 32 bytes of a wrapped signature. */
const wrapped = '6492'.repeat(16)
const wrapTypes = typesOf('address', 'bytes', 'bytes')
const batchTypes = typesOf('tuple(address, bool, bytes)[]')

/** The signature, and the deployment that it is wrapped with. Undefined for a wrap that cannot be read. `hex`: lower case with 0x. */
export function readPaymentSignature(
  hex: string,
): { signature: string; deployment: Deployment | undefined } | undefined {
  if (!hex.endsWith(wrapped)) return { signature: hex, deployment: undefined }
  try {
    const [factory, data, signature] = decodeAbi(wrapTypes, hex.slice(2, -wrapped.length)) as [string, string, string]
    return { signature, deployment: { factory, data } }
  } catch {
    return undefined
  }
}

/** Multicall3, which has this address on every chain that has it (mds1/multicall3). */
export const multicall = '0xca11bde05977b3631167028862be2a173976ca11'

/** Of Multicall3, aggregate3((address,bool,bytes)[]): the account is made, unless it exists by then, and the second call must succeed. */
export const deployAndCall = ({ factory, data }: Deployment, call: { to: string; data: string }): string =>
  `0x82ad56cb${encodeAbi(batchTypes, [
    [
      [factory, true, data],
      [call.to, false, call.data],
    ],
  ])}`
