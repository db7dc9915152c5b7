import type { ParamType } from 'ethers'
import { parseJson, readInput } from './context.ts'
import { CommandError } from './exit-codes.ts'

/**
 * Call data of `transfer(address,uint256)` with its arguments. With an ABI in JSON (also a compiler's artifact with a member `abi`),
 * the name alone is enough.
 */
export async function encodeCall(call: string, values: string[], abiFile: string | undefined): Promise<string> {
  const { Interface } = await loadEthers()
  try {
    const abi = abiFile === undefined ? [`function ${call.replace(/^function /, '')}`] : await readAbi(abiFile)
    const encoder = new Interface(abi)
    const fragment = encoder.getFunction(call.replace(/^function /, ''))
    if (!fragment) throw new Error(`the ABI has no function ${call}`)
    const { inputs } = fragment
    if (inputs.length !== values.length)
      throw new Error(`${fragment.format()} takes ${inputs.length} arguments, and ${values.length} are given`)
    return encoder.encodeFunctionData(
      fragment,
      inputs.map((type, index) => readArgument(type, values[index] as string)),
    )
  } catch (error) {
    const { shortMessage, message } = error as Error & { shortMessage?: string }
    throw new CommandError(`The call ${call} cannot be encoded: ${shortMessage ?? message}`)
  }
}

async function loadEthers() {
  try {
    return await import('ethers')
  } catch {
    throw new CommandError('--call needs the package ethers: run `npm install ethers`, or pass --data')
  }
}

async function readAbi(file: string): Promise<string> {
  const read = parseJson(await readInput(file), file)
  return JSON.stringify(Array.isArray(read) ? read : (read as { abi?: unknown }).abi)
}

/** Arrays, tuples and booleans are JSON; other types are text. Integers in JSON are strings where they are above 2^53. */
const readArgument = (type: ParamType, value: string): unknown =>
  type.isArray() || type.isTuple() || type.type === 'bool'
    ? parseJson(value, `The argument of type ${type.type}`)
    : value
