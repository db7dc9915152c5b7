import { AbiCoder, Interface } from 'ethers/abi'

/** The request that a forwarder of OpenZeppelin Contracts 5 executes (ERC-2771), apart from its signature. Addresses in lower case. */
export interface ForwardRequest {
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
export interface AccountBatch {
  calls: AccountCall[]
  op_data: string | undefined
}

const forwarder = new Interface([
  'function execute((address from, address to, uint256 value, uint256 gas, uint48 deadline, bytes data, bytes signature) request) payable',
])
const account = new Interface(['function execute(bytes32 mode, bytes executionData) payable'])
const calls_type = 'tuple(address to, uint256 value, bytes data)[]'
/** ERC-7821: one batch without, and with, data for the account's own check of who calls. */
const modes: Record<string, string[]> = {
  [modeOf('01000000000000000000')]: [calls_type],
  [modeOf('01000000000078210001')]: [calls_type, 'bytes'],
}
const max_calls = 50

function modeOf(digits: string): string {
  return `0x${digits.padEnd(64, '0')}`
}

/** Undefined for any other data, also for the same arguments in another encoding. */
export function readForwardRequest(data: string): ForwardRequest | undefined {
  try {
    const [request] = forwarder.decodeFunctionData('execute', data)
    if (forwarder.encodeFunctionData('execute', [request]) !== data) return undefined
    const { from, to, value, gas, deadline, data: inner } = request
    return { from: from.toLowerCase(), to: to.toLowerCase(), value, gas, deadline, data: inner }
  } catch {
    return undefined
  }
}

/** Undefined for any other data, also for the same arguments in another encoding. */
export function readAccountBatch(data: string): AccountBatch | undefined {
  try {
    const [mode, inner] = account.decodeFunctionData('execute', data)
    if (account.encodeFunctionData('execute', [mode, inner]) !== data) return undefined
    const coder = AbiCoder.defaultAbiCoder()
    for (const types of [modes[mode]?.slice(0, 1), modes[mode]]) {
      const batch = types && decodeAll(coder, types, inner)
      if (batch) return batch
    }
    return undefined
  } catch {
    return undefined
  }
}

function decodeAll(coder: AbiCoder, types: string[], data: string): AccountBatch | undefined {
  try {
    const values = coder.decode(types, data)
    if (coder.encode(types, values) !== data) return undefined
    const calls = [...values[0]].map(({ to, value, data: its }: AccountCall) => ({
      to: to.toLowerCase(),
      value,
      data: its,
    }))
    const op_data: string | undefined = types.length > 1 ? values[1] : undefined
    return calls.length >= 1 && calls.length <= max_calls ? { calls, op_data } : undefined
  } catch {
    return undefined
  }
}

const key_digits = 48

/**
 * The key of the nonce that begins the data, in its upper 192 bits (as in ERC-4337): each key counts by itself. Undefined: it has none.
 * Some accounts have a signature there, so what their code does must be known.
 */
export const nonceKeyOf = ({ op_data }: AccountBatch): string | undefined =>
  /^0x[0-9a-f]{64}/.test(op_data ?? '') ? op_data?.slice(2, 2 + key_digits) : undefined
