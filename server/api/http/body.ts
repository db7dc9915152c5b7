import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { badRequest, DomainError, inputFault } from '../../domain/errors.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import type { AmountPlaces, OperationFacts } from './document.ts'
import { ApiError, phraseOf } from './errors.ts'
import { parseJson } from './json.ts'
import type { Held } from './shares.ts'

export const maxBodyBytes = 1024 * 1024
/** A longer body has a turn of the event loop to itself. To parse, validate and sign 1 MiB takes up to 40 ms. */
const shortBodyBytes = 16 * 1024

/** RFC 9112, section 6: a request without these two headers has no body. */
const isBodyless = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0

/**
 * Normalizes the request's Content-Type to the contract's spelling, and removes it where the operation takes no body: the validator
 * caches a compiled check for each spelling. Throws DomainError (415) for another media type.
 */
export function checkMediaType(
  request: IncomingMessage,
  { mediaTypes, bodyIsOptional, speaksJsonRpc }: BodyFacts & Pick<OperationFacts, 'speaksJsonRpc'>,
): void {
  const [first] = mediaTypes
  // web3.py sends none when its user sets a header of their own.
  if (speaksJsonRpc) request.headers['content-type'] ??= 'application/json'
  if (first === undefined) delete request.headers['content-type']
  else
    request.headers['content-type'] = bodyIsOptional && isBodyless(request) ? first : mediaTypeOf(request, mediaTypes)
}

/** Reads the body of an operation: undefined where it takes none, an empty object for an optional one that is absent. */
export async function readBody(
  request: IncomingMessage,
  { mediaTypes, bodyIsOptional, amounts }: BodyFacts,
  bytes: () => Held,
): Promise<unknown> {
  if (mediaTypes.length === 0) return undefined
  if (bodyIsOptional && isBodyless(request)) return {}
  const body = await readBytes(request, bytes)
  // After the process has waited for a CPU core, all requests that arrived meanwhile are read in one turn of the event loop.
  if (body.length > shortBodyBytes) await yieldToEventLoop()
  return readJson(body, amounts)
}

type BodyFacts = Pick<OperationFacts, 'mediaTypes' | 'bodyIsOptional' | 'amounts'>

/** The one of the operation's media types that the request's body has. Throws DomainError (415). */
function mediaTypeOf(request: IncomingMessage, accepted: string[]): string {
  const { 'content-type': contentType, 'content-encoding': encoding } = request.headers
  const refuse = (path: string, message: string) =>
    new ApiError('unsupported_media_type', phraseOf('unsupported_media_type'), [{ path, message }])

  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw refuse('/headers/content-encoding', 'must be identity: compressed bodies are not accepted')
  }
  // The common case, without parsing.
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

/** Parses a JSON body. `amounts`: the places of its amounts. Throws DomainError (400). */
function readJson(bytes: Buffer, amounts: AmountPlaces | undefined): unknown {
  if (bytes.length === 0) throw badRequest([], 'must not be empty')
  if (!isUtf8(bytes)) throw badRequest([], 'must be encoded in UTF-8')
  return parseJson(bytes.toString('utf8'), amounts)
}

/**
 * Reads a body of at most 1 MiB. `hold`: begins the share of it that the caller holds, which grows before a body does; a declared length
 * counts as a whole before anything is read. Rejects with DomainError (400, 413; 429 and 503 without room).
 */
async function readBytes(request: IncomingMessage, hold: () => Held): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > maxBodyBytes) throw tooLarge()
  if (request.destroyed) throw incomplete()
  const bytes = hold()
  bytes.add(declared)
  const body = createCollector(declared)
  return new Promise((resolve, reject) => {
    const stop = (error: unknown) => {
      request.removeAllListeners('data')
      reject(error)
    }
    request.on('data', (chunk: Buffer) => {
      if (body.length() + chunk.length > maxBodyBytes) return stop(tooLarge())
      try {
        if (declared === 0) bytes.add(chunk.length)
      } catch (error) {
        return stop(error)
      }
      body.add(chunk)
    })
    request.on('end', () => resolve(body.whole()))
    // The client has disconnected and gets no response; the failure only ends the work.
    request.on('error', () => reject(incomplete()))
    // Every request emits `close`; an unused error would cost 10 us for its stack trace.
    request.on('close', () => request.complete || reject(incomplete()))
  })
}

/**
 * Copies chunks into one buffer, because a list of a million one-byte chunks would take 200 MB. A body in one chunk is not copied.
 */
function createCollector(declared: number) {
  let gathered: Buffer = Buffer.alloc(0)
  let length = 0
  return {
    length: () => length,
    add(chunk: Buffer) {
      const needed = length + chunk.length
      if (length === 0) gathered = chunk
      else if (needed > gathered.length) {
        const larger = Buffer.allocUnsafe(Math.max(needed, declared, Math.min(2 * gathered.length, maxBodyBytes)))
        gathered.copy(larger, 0, 0, length)
        gathered = larger
      }
      if (length > 0) chunk.copy(gathered, length)
      length = needed
    },
    whole: () => gathered.subarray(0, length),
  }
}

const incomplete = () => badRequest([], 'ended before it was complete')

const tooLarge = () => new DomainError('payload_too_large', [inputFault([], `must be at most ${maxBodyBytes} bytes`)])
