import { printable, printableTexts } from '../core/printable.ts'
import type { AnswerTooLarge } from './answer-counter.ts'
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
const max_words = 200

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
  return words.length > max_words ? `${words.slice(0, max_words)}…` : words
}
