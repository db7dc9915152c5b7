import type { ContractCall } from '../../generated/client.ts'
import { parseJson, readInput } from './context.ts'
import { CommandError } from './exit-codes.ts'
import { inLine } from './terminal.ts'

type AbiEntry = NonNullable<ContractCall['abi']>[number]

/** The service reads so many custom errors of an ABI. */
const maxErrors = 20

/**
 * The call of a function such as `transfer(address,uint256)`, which the service encodes. With an ABI in JSON (also a compiler's artifact
 * with a member `abi`), the name alone is enough, and the service decodes the ABI's custom errors. Throws CommandError.
 */
export async function readCall(call: string, values: string[], abiFile: string | undefined): Promise<ContractCall> {
  const wanted = call.trim().replace(/^function\s+/, '')
  const abi = abiFile === undefined ? undefined : await readAbi(abiFile)
  const types = wanted.includes('(') ? typesIn(wanted) : typesOf(wanted, abi ?? [], values.length)
  if (types.length !== values.length)
    throw new CommandError(`${inLine(call)} takes ${types.length} arguments, and ${values.length} are given`)
  return {
    function: wanted,
    args: values.map((value, index) => readArgument(types[index] as string, value)),
    ...(abi && { abi: partOf(abi, wanted) }),
  }
}

async function readAbi(file: string): Promise<AbiEntry[]> {
  const read = parseJson(await readInput(file), file)
  const abi = Array.isArray(read) ? read : (read as { abi?: unknown } | null)?.abi
  if (!Array.isArray(abi)) throw new CommandError(`${file} must be an ABI, or an artifact with one`)
  return abi
}

/** The functions of this name, and the errors: an artifact may have more entries than the service takes. */
function partOf(abi: AbiEntry[], wanted: string): AbiEntry[] {
  const isOf = (kind: string, name?: string) => (entry: AbiEntry) => {
    const head = headOf(entry)
    return head.kind === kind && (name === undefined || head.name === name)
  }
  const [name = ''] = wanted.split('(')
  const functions = abi.filter(isOf('function', name))
  if (functions.length === 0) throw new CommandError(`The ABI has no function ${inLine(name)}`)
  return [...functions, ...abi.filter(isOf('error')).slice(0, maxErrors)]
}

function headOf(entry: AbiEntry): { kind: unknown; name: unknown } {
  if (typeof entry !== 'string') return { kind: entry.type, name: entry.name }
  const [, kind, name] = /^\s*(function|error)\s+([A-Za-z_$][\w$]*)/.exec(entry) ?? []
  return { kind, name }
}

/** The types of the arguments of the only function of this name, or of the only one that takes so many. */
function typesOf(name: string, abi: AbiEntry[], count: number): string[] {
  const named = abi.filter((entry) => headOf(entry).kind === 'function' && headOf(entry).name === name)
  const all = named.map((entry) =>
    typeof entry === 'string' ? typesIn(entry) : ((entry.inputs ?? []) as { type: string }[]).map(({ type }) => type),
  )
  const fitting = all.length === 1 ? all : all.filter((types) => types.length === count)
  const [types, ...others] = fitting
  if (types && others.length === 0) return types
  const reason = named.length === 0 ? 'must have the types of its arguments, for example' : 'is one of several: write'
  throw new CommandError(`--call ${inLine(name)} ${reason} transfer(address,uint256)`)
}

/** The types between the outermost parentheses, with what follows each one. */
function typesIn(signature: string): string[] {
  const types: string[] = []
  let depth = 0
  let start = signature.indexOf('(') + 1
  for (let place = start - 1; place < signature.length; place += 1) {
    const character = signature[place]
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (depth > 1 || (character !== ',' && depth > 0)) continue
    const type = signature.slice(start, place).trim()
    if (type !== '') types.push(type)
    start = place + 1
    if (depth === 0) return types
  }
  throw new CommandError(`--call ${inLine(signature)} has an open parenthesis`)
}

/** Arrays, tuples and booleans are JSON; other types are text. Integers in JSON are strings where they are above 2^53. */
function readArgument(type: string, value: string): unknown {
  const [name = ''] = type.split(/\s(?![^(]*\))/)
  return name.endsWith(']') || /^(?:tuple)?\(/.test(name) || name.startsWith('tuple') || name === 'bool'
    ? parseJson(value, `The argument of type ${inLine(name)}`)
    : value
}
