import { printable, printableTexts } from '../lib/printable.ts'
import type { AnswerTooLarge } from './answer-limits.ts'
import type { RpcErrorObject } from './rpc-error.ts'

/**
 * The answer to one call. `too_large`: it exceeds the limits, and the size of such an answer depends on the request. `malformed`: it cannot
 * be read; what is wrong with it.
 */
export type RpcAnswer =
  | { result: unknown }
  | { error: RpcErrorObject }
  | { too_large: AnswerTooLarge }
  | { malformed: string }

type Scrub = (error: RpcErrorObject) => RpcErrorObject

/** The most characters of an answer that is no JSON-RPC, for the operator. */
const maxWords = 200

/**
 * The envelope of one answer, in the forms that nodes and the proxies before them use: `result` left out for null, `result` beside `error`,
 * an error that is a text, an error without an envelope. Undefined: it is no JSON-RPC.
 */
export function readEnvelope(
  answer: unknown,
  scrub: Scrub,
): { result: unknown } | { error: RpcErrorObject } | undefined {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return undefined
  const { jsonrpc, id, result, error, code, message } = answer as Record<string, unknown>
  const has = result !== undefined && result !== null
  if (isError(error, has)) return { error: readError(error, scrub) }
  if (result !== undefined) return { result }
  // Without a code it is the message of a proxy, about the whole request.
  if (typeof message === 'string' && code !== undefined) return { error: readError(answer, scrub) }
  return jsonrpc === undefined && id === undefined ? undefined : { result: null }
}

/** Some nodes add an error that says nothing to each result. */
function isError(error: unknown, hasResult: boolean): error is object | string | number | true {
  if (typeof error !== 'object' || error === null) return Boolean(error)
  const { code, message } = error as { code?: unknown; message?: unknown }
  return !hasResult || Boolean(code) || Boolean(message)
}

/** A code that is no integer is left out, and a message that is no text becomes a detail: callers get both as the contract has them. */
function readError(error: object | string | number | true, scrub: Scrub): RpcErrorObject {
  const whole = typeof error === 'object' ? error : typeof error === 'string' ? { message: error } : { code: error }
  const { code: given, message, ...rest } = whole as { code?: unknown; message?: unknown }
  const code = typeof given === 'string' ? Number(given) : given
  return printableTexts(
    scrub({
      ...rest,
      ...(Number.isSafeInteger(code) && { code: code as number }),
      ...(typeof message === 'string' ? { message } : { details: message }),
    }),
  )
}

/** The answers to the calls of a batch, in their order; undefined: the node omitted it. Ids may come back as texts. */
export function readBatch(answers: unknown[], count: number, scrub: Scrub): ReturnType<typeof readEnvelope>[] {
  const byId = new Map(answers.map((one) => [idOf(one), one]))
  // Some nodes refuse a batch with one error that has no id.
  const refusal = readEnvelope(byId.get(undefined), scrub)
  const common = refusal && 'error' in refusal ? refusal : undefined
  return Array.from({ length: count }, (_, id) => readEnvelope(byId.get(id), scrub) ?? common)
}

function idOf(answer: unknown): number | undefined {
  const id = (answer as { id?: unknown } | null | undefined)?.id
  if (typeof id === 'number') return id
  return typeof id === 'string' && id.trim() !== '' ? Number(id) : undefined
}

/** The words of a text or a page that came in place of JSON-RPC, for the operator; '' for none. `start`: its first characters. */
export function wordsOf(start: string, scrub: Scrub): string {
  const text = start.replace(/<(script|style|head)\b[^>]*>.*?<\/\1>/gis, ' ').replace(/<[^>]*>?/g, ' ')
  const words = printable(String(scrub({ message: text.replace(/\s+/g, ' ').trim() }).message))
  return words.length > maxWords ? `${words.slice(0, maxWords)}…` : words
}

/** What a node answered cannot be read: it proves nothing. The message says which value, and what it is. */
export class Malformed extends Error {}

/** Reads one value of an answer, or throws Malformed. `name`: of the value, for the message. */
type Read<T> = (value: unknown, name: string) => T

const maxQuantity = 2n ** 256n - 1n
/** Nodes pad quantities, and write zero as `0x`. Libraries read digits alone as decimal. */
const spellings = /^(?:0x[0-9a-f]{0,128}|[0-9]{1,78})$/i
const maxShown = 100

/** A value of an answer as text, for a message. */
export function show(value: unknown): string {
  if (value === undefined) return 'missing'
  if (typeof value === 'string') return `"${printable(value.slice(0, maxShown))}"`
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : `${value}`
}

const refuse = (value: unknown, name: string, wanted: string): Malformed =>
  new Malformed(`${name} is ${show(value)}, and not ${wanted}`)

/** A number of any spelling: a JSON number, hex in any case and length, `0x` for zero, decimal digits. */
export const readQuantity: Read<bigint> = (value, name) => {
  const number = parse(value)
  if (number === undefined || number > maxQuantity) throw refuse(value, name, 'a number')
  return number
}

function parse(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined
  if (typeof value !== 'string' || !spellings.test(value)) return undefined
  return value.length === 2 && /^0x$/i.test(value) ? 0n : BigInt(value.toLowerCase())
}

/** A number that JavaScript holds exactly. */
export const readInteger: Read<number> = (value, name) => {
  const number = Number(readQuantity(value, name))
  if (!Number.isSafeInteger(number)) throw refuse(value, name, 'a number below 2^53')
  return number
}

/** The number of a block, or another number of which zero without a digit says nothing. */
export const readHeight: Read<number> = (value, name) => {
  if (typeof value === 'string' && value.length <= 2 && /^0x/i.test(value)) throw refuse(value, name, 'a number')
  return readInteger(value, name)
}

/** Whether an execution succeeded: 1 or true, 0 or false. */
export const readStatus: Read<boolean> = (value, name) => {
  if (typeof value === 'boolean') return value
  const status = readHeight(value, name)
  if (status > 1) throw refuse(value, name, '0 or 1')
  return status === 1
}

const hexOf =
  (bytes: number, wanted: string): Read<string> =>
  (value, name) => {
    if (typeof value !== 'string' || value.length !== 2 + 2 * bytes || !/^0x[0-9a-f]+$/i.test(value))
      throw refuse(value, name, wanted)
    return value.toLowerCase()
  }

/** 32 bytes, in lower case. */
export const readHash = hexOf(32, 'a hash')
/** In lower case. */
export const readAddress = hexOf(20, 'an address')

export const readBytes: Read<Buffer> = (value, name) => {
  if (typeof value !== 'string' || !/^0x(?:[0-9a-f]{2})*$/i.test(value)) throw refuse(value, name, 'bytes as hex')
  return Buffer.from(value.slice(2), 'hex')
}

export const readObject: Read<Record<string, unknown>> = (value, name) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse(value, name, 'an object')
  return value as Record<string, unknown>
}

/** Undefined where the value is absent, or says nothing: a member without which the answer is of use. */
export function optional<T>(read: Read<T>, value: unknown, name: string): T | undefined {
  try {
    return value === undefined || value === null ? undefined : read(value, name)
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}
