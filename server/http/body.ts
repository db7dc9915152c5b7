import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { ApiError, badRequest } from '../errors.ts'
import type { Held } from './shares.ts'

export const max_body_bytes = 1024 * 1024

/** RFC 9112, section 6: a request without these two headers has no body. */
export const isBodyless = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0

/** Which of the operation's media types the request's body is of. Throws ApiError (415). */
export function mediaTypeOf(request: IncomingMessage, accepted: string[]): string {
  const { 'content-type': contentType, 'content-encoding': encoding } = request.headers
  const refuse = (path: string, message: string) =>
    new ApiError('unsupported_media_type', 'Bad Request', [{ path, message }])

  const transfer = request.headers['transfer-encoding']
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') {
    throw refuse('/headers/transfer-encoding', 'must be chunked')
  }
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw refuse('/headers/content-encoding', 'must be identity')
  }
  // Nearly every request has exactly this one.
  if (contentType === 'application/json' && accepted.includes(contentType)) return contentType
  const [type = '', ...parameters] = (contentType ?? '').split(';')
  const mediaType = type.trim().toLowerCase()
  if (!accepted.includes(mediaType)) throw refuse('/headers/content-type', `must be ${accepted.join(' or ')}`)
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=')
    if (name.trim().toLowerCase() === 'charset' && !/^\s*"?utf-?8"?\s*$/i.test(value)) {
      throw refuse('/headers/content-type', 'charset must be utf-8')
    }
  }
  return mediaType
}

/** Reads a JSON body. `amounts`: as for `parseJson`. Throws ApiError (400). */
export function readJson(bytes: Buffer, amounts: ReadonlySet<string>): unknown {
  if (bytes.length === 0) throw badRequest('/body', 'must not be empty')
  if (!isUtf8(bytes)) throw badRequest('/body', 'must be UTF-8')
  if (bytes.length > max_values * 2 && isCrowded(bytes)) {
    throw badRequest('/body', `must not hold more than ${max_values} values`)
  }
  return parseJson(bytes.toString('utf8'), amounts)
}

/** More than any operation has a use for. A megabyte of tiny values takes the parser and the contract's checks 0.4 s. */
const max_values = 10_000
const [quote, backslash, comma, bracket, brace] = Buffer.from('"\\,[{')

/** Whether there are too many values, told by what stands between them and around them: before they are parsed, 2 ms a megabyte. */
function isCrowded(bytes: Buffer): boolean {
  let isText = false
  let values = 1
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === quote) isText = !isText
    else if (isText && byte === backslash) at += 1
    else if (!isText && (byte === comma || byte === bracket || byte === brace)) values += 1
  }
  return values > max_values
}

/** A run of 16 digits may be more than a number holds, an escaped surrogate may stand alone: only then is each value looked at. */
const needsCare = /\d{16}|\\u[dD][89a-fA-F]/

/**
 * Parses JSON without losing a digit: a number that a property of `amounts` holds, and that JavaScript would round, comes as the
 * text it was written as, for the contract to judge. Text that is not Unicode (a lone surrogate) is refused: it has no UTF-8
 * to sign or keep.
 */
export function parseJson(text: string, amounts: ReadonlySet<string>): unknown {
  const careful = (key: string, value: unknown, context?: { source?: string }) => {
    if (!key.isWellFormed() || (typeof value === 'string' && !value.isWellFormed())) {
      throw badRequest('/body', 'must be well-formed Unicode')
    }
    const source = context?.source
    return typeof value === 'number' && amounts.has(key) && String(value) !== source ? source : value
  }
  let value: unknown
  try {
    value = needsCare.test(text) ? JSON.parse(text, careful) : JSON.parse(text)
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw badRequest('/body', 'must be JSON')
  }
  if (isDeeper(value, max_depth)) throw badRequest('/body', `must not be nested more than ${max_depth} deep`)
  return value
}

/** JSON.stringify and others recurse; the parser does not. */
const max_depth = 64

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((child) => isDeeper(child, depth - 1))
}

/**
 * Reads a body of at most 1 MiB. `bytes`: the share of it that the caller holds, which grows before a body does; a declared length counts
 * as a whole before anything is read. Rejects with ApiError (400, 413; 429 and 503 without room).
 */
export async function readBytes(request: IncomingMessage, bytes: Held): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > max_body_bytes) throw tooLarge()
  bytes.add(declared)
  const body = createCollector(declared)
  return new Promise((resolve, reject) => {
    const stop = (error: unknown) => {
      request.removeAllListeners('data')
      reject(error)
    }
    request.on('data', (chunk: Buffer) => {
      if (body.length() + chunk.length > max_body_bytes) return stop(tooLarge())
      try {
        if (declared === 0) bytes.add(chunk.length)
      } catch (error) {
        return stop(error)
      }
      body.add(chunk)
    })
    request.on('end', () => resolve(body.whole()))
    // Whoever hung up hears no answer; the failure only ends the work.
    request.on('error', () => reject(badRequest('/body', 'ended early')))
    // Every request closes in the end; an error made for nothing costs 10 us of stack trace.
    request.on('close', () => request.complete || reject(badRequest('/body', 'ended early')))
  })
}

/** Copies chunks into one buffer: a list of a million chunks of one byte would take 200 MB. A body in one chunk is not copied. */
function createCollector(declared: number) {
  let gathered: Buffer = Buffer.alloc(0)
  let length = 0
  return {
    length: () => length,
    add(chunk: Buffer) {
      const needed = length + chunk.length
      if (length === 0) gathered = chunk
      else if (needed > gathered.length) {
        const larger = Buffer.allocUnsafe(Math.max(needed, declared, Math.min(2 * gathered.length, max_body_bytes)))
        gathered.copy(larger, 0, 0, length)
        gathered = larger
      }
      if (length > 0) chunk.copy(gathered, length)
      length = needed
    },
    whole: () => gathered.subarray(0, length),
  }
}

const tooLarge = () =>
  new ApiError('payload_too_large', 'Bad Request', [
    { path: '/body', message: `must be at most ${max_body_bytes} bytes` },
  ])
