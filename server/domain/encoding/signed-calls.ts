import { keccak256, toHex } from './digest.ts'

/** What a call says about the signature that it carries out. */
interface SignedPart {
  /** Of several calls with the same order at one contract only one is carried out, or they are in the order of a nonce. */
  order: string
  /** When it is no longer carried out, in seconds since the Unix epoch; undefined: never. */
  deadline: bigint | undefined
}

/** Places of arguments, in words of 32 bytes. `order`: the signer, and its nonce where nonces have no order. */
interface Places {
  order: number[]
  deadline: number
}

const permit = { order: [0], deadline: 3 }
const transfer = { order: [0, 5], deadline: 4 }
const fromPermit2 = { order: [2, 6], deadline: 3 }
/** Functions of standards that carry out what somebody signed: EIP-2612, DAI, EIP-3009, Permit2. */
const functions: Record<string, Places> = {
  'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)': permit,
  'permit(address,address,uint256,uint256,bytes)': permit,
  'permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)': permit,
  'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)': transfer,
  'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)': transfer,
  'receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)': transfer,
  'receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)': transfer,
  'permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)': { order: [0], deadline: 6 },
  'permitTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes)': fromPermit2,
  'permitWitnessTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes32,string,bytes)':
    fromPermit2,
}
/** With 0x. */
const selectorDigits = 10
const wordDigits = 64
const places = new Map(
  Object.entries(functions).map(([signature, its]) => [toHex(keccak256(signature)).slice(0, selectorDigits), its]),
)

/** `data`: in lower case. Undefined: nothing is known of the function. */
export function readSignedCall(data: string): SignedPart | undefined {
  const its = places.get(data.slice(0, selectorDigits))
  if (!its) return undefined
  const wordAt = (index: number) => {
    const from = selectorDigits + index * wordDigits
    return data.slice(from, from + wordDigits).padEnd(wordDigits, '0')
  }
  const deadline = BigInt(`0x${wordAt(its.deadline)}`)
  // DAI: a permit that never ends.
  return { order: its.order.map(wordAt).join(' '), deadline: deadline === 0n ? undefined : deadline }
}
