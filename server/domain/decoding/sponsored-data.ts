import { ParamType } from 'ethers/abi'
import { decodeAbi, encodeAbi } from './abi.ts'

/** The request that a forwarder of OpenZeppelin Contracts 5 executes (ERC-2771), apart from its signature. Addresses in lower case. */
interface ForwardRequest {
  from: string
  to: string
  value: bigint
  gas: bigint
  /** Seconds since the Unix epoch. */
  deadline: bigint
  data: string
}

/** A call that an account makes for its user (ERC-7821). */
export interface AccountCall {
  to: string
  value: bigint
  data: string
}

/** What an account is told to do. `op_data`: for its own check of who calls; undefined in the mode without it. */
interface AccountBatch {
  calls: AccountCall[]
  op_data: string | undefined
}

const typesOf = (...types: string[]) => types.map((type) => ParamType.from(type))

/** execute((address,address,uint256,uint256,uint48,bytes,bytes)) */
const forwardSelector = '0xdf905caf'
const forwardTypes = typesOf('tuple(address, address, uint256, uint256, uint48, bytes, bytes)')
/** execute(bytes32,bytes) */
const accountSelector = '0xe9ae5c53'
const accountTypes = typesOf('bytes32', 'bytes')
const [calls, bytes] = ['tuple(address, uint256, bytes)[]', 'bytes']
/** ERC-7821: one batch without, and with, data for the account's own check of who calls. */
const modes: Record<string, ParamType[][]> = {
  [modeOf('01000000000000000000')]: [typesOf(calls)],
  [modeOf('01000000000078210001')]: [typesOf(calls), typesOf(calls, bytes)],
}
const maxCalls = 50

function modeOf(digits: string): string {
  return `0x${digits.padEnd(64, '0')}`
}

/** Undefined for any other data, also for the same arguments in another encoding. `data`: lower case hex. */
export function readForwardRequest(data: string): ForwardRequest | undefined {
  const [request] = argumentsIn(data, forwardSelector, forwardTypes) ?? []
  if (!request) return undefined
  const [from, to, value, gas, deadline, inner] = request as [string, string, string, string, string, string]
  return { from, to, value: BigInt(value), gas: BigInt(gas), deadline: BigInt(deadline), data: inner }
}

/** Undefined for any other data, also for the same arguments in another encoding. `data`: lower case hex. */
export function readAccountBatch(data: string): AccountBatch | undefined {
  const [mode, inner] = (argumentsIn(data, accountSelector, accountTypes) ?? []) as string[]
  for (const types of modes[mode ?? ''] ?? []) {
    const [list, opData] = (argumentsIn(inner as string, '0x', types) ?? []) as [[string, string, string][]?, string?]
    if (!list || list.length < 1 || list.length > maxCalls) continue
    return { calls: list.map(([to, value, data]) => ({ to, value: BigInt(value), data })), op_data: opData }
  }
  return undefined
}

/** The arguments after the prefix, if this is the only encoding of them. */
function argumentsIn(data: string, prefix: string, types: ParamType[]): unknown[] | undefined {
  if (!data.startsWith(prefix)) return undefined
  const hex = data.slice(prefix.length)
  try {
    const values = decodeAbi(types, hex)
    return encodeAbi(types, values) === hex ? values : undefined
  } catch {
    return undefined
  }
}

const keyDigits = 48

/**
 * The key of the nonce that begins the data, in its upper 192 bits (as in ERC-4337): each key counts by itself. Undefined: it has none.
 * Some accounts have a signature there, so what their code does must be known.
 */
export const nonceKeyOf = ({ op_data }: AccountBatch): string | undefined =>
  /^0x[0-9a-f]{64}/.test(op_data ?? '') ? op_data?.slice(2, 2 + keyDigits) : undefined
