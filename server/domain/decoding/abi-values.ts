import type { ParamType } from 'ethers/abi'
import { badRequest, type Field } from '../errors.ts'
import { readAddress } from '../values.ts'

/**
 * A JSON value as the ABI type wants it. ethers takes any value that is true for a boolean and any value as a string, so every value is
 * checked here. Integers are decimal strings, or JSON numbers below 2^53. Throws DomainError with the path of the value.
 */
export function abiValue(type: ParamType, value: unknown, field: Field): unknown {
  if (type.isArray()) return arrayValue(type, value, field)
  if (type.isTuple()) return tupleValue(type, value, field)
  const { type: name } = type
  if (/^u?int/.test(name)) return integerValue(name, value, field)
  if (name === 'address') {
    if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{40}$/.test(value))
      throw badRequest(field, 'must be an address: 0x and 40 hexadecimal digits')
    return readAddress(value, field)
  }
  if (name === 'bool') {
    if (typeof value !== 'boolean') throw badRequest(field, 'must be true or false')
    return value
  }
  if (name === 'string') {
    if (typeof value !== 'string' || !value.isWellFormed()) throw badRequest(field, 'must be a string')
    return value
  }
  const size = /^bytes(\d*)$/.exec(name)?.[1]
  if (size === undefined) throw badRequest(field, `has the type ${name}, which is not supported`)
  const isBytes = typeof value === 'string' && /^0x(?:[0-9a-fA-F]{2})*$/.test(value)
  if (!isBytes || (size !== '' && value.length !== 2 + 2 * Number(size))) {
    const length = size === '' ? 'whole bytes of hex' : `${2 * Number(size)} hexadecimal digits`
    throw badRequest(field, `must be ${name}: 0x and ${length}`)
  }
  return value
}

function arrayValue({ type, arrayLength, arrayChildren }: ParamType, value: unknown, field: Field): unknown[] {
  if (!Array.isArray(value)) throw badRequest(field, `must be an array for ${type}`)
  if (arrayLength !== null && arrayLength !== -1 && value.length !== arrayLength)
    throw badRequest(field, `must have ${arrayLength} members for ${type}; it has ${value.length}`)
  return value.map((member, index) => abiValue(arrayChildren as ParamType, member, [...field, index]))
}

/** An array in the order of the components, or an object with exactly their names. */
function tupleValue({ components, type }: ParamType, value: unknown, field: Field): unknown[] {
  const parts = components ?? []
  if (Array.isArray(value)) {
    if (value.length !== parts.length)
      throw badRequest(field, `must have ${parts.length} members for ${type}; it has ${value.length}`)
    return parts.map((part, index) => abiValue(part, value[index], [...field, index]))
  }
  const names = parts.map(({ name }) => name)
  const isNamed = names.every((name) => name !== '') && new Set(names).size === names.length
  const isObject = typeof value === 'object' && value !== null
  const hasAll =
    isObject && Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name))
  if (!isNamed || !hasAll) {
    const form = isNamed ? `, or an object with the members ${names.join(', ')}` : ''
    throw badRequest(field, `must be an array of ${parts.length} members${form}`)
  }
  return parts.map((part) => abiValue(part, (value as Record<string, unknown>)[part.name], [...field, part.name]))
}

function integerValue(name: string, value: unknown, field: Field): bigint {
  const isText =
    typeof value === 'string' && /^-?(?:\d{1,78}|0x[0-9a-fA-F]{1,64})$/.test(value) && !value.startsWith('-0x')
  if (!isText && !Number.isSafeInteger(value))
    throw badRequest(field, `must be ${name}: a whole number as a string, for example "1000000000000000"`)
  const integer = BigInt(value as string | number)
  const isSigned = name.startsWith('int')
  const bits = BigInt(name.replace(/^u?int/, '') || 256)
  const [lowest, highest] = isSigned ? [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n] : [0n, 2n ** bits - 1n]
  if (integer < lowest || integer > highest) throw badRequest(field, `must be ${name}: from ${lowest} to ${highest}`)
  return integer
}
