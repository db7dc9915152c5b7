import { codes, invalidParams, JsonRpcError } from './errors.ts'

export type Id = string | number | null

/** A call of JSON-RPC 2.0 (section 4). `id` is undefined for a notification. */
export interface Call {
  id: Id | undefined
  method: string
  params: unknown[]
}

const max_id_length = 255
const max_method_length = 100
const max_params = 10

/** The id of the response, also for an invalid call; undefined: a notification, which has no response. */
export function idOf(member: unknown): Id | undefined {
  if (typeof member !== 'object' || member === null || Array.isArray(member)) return null
  const { id, method } = member as { id?: unknown; method?: unknown }
  // A notification has a method. An object without id and method is an invalid call, which gets a response.
  if (id === undefined) return typeof method === 'string' ? undefined : null
  return isId(id) ? id : null
}

const isId = (id: unknown): id is Id =>
  id === null || typeof id === 'number' || (typeof id === 'string' && id.length <= max_id_length)

/** Throws JsonRpcError (-32600, -32602). */
export function readCall(member: unknown): Call {
  if (typeof member !== 'object' || member === null || Array.isArray(member)) throw invalid('a call must be an object')
  const { jsonrpc, id, method, params = [] } = member as Record<string, unknown>
  if (jsonrpc !== '2.0') throw invalid('jsonrpc must be "2.0"')
  if (id !== undefined && !isId(id))
    throw invalid(`id must be a number, a text of at most ${max_id_length} characters, or null`)
  if (typeof method !== 'string' || method.length > max_method_length)
    throw invalid('method must be the name of a method')
  if (!Array.isArray(params)) throw invalidParams('params must be an array')
  if (params.length > max_params) throw invalidParams(`params must have at most ${max_params} members`)
  return { id, method, params }
}

export const invalid = (message: string): JsonRpcError =>
  new JsonRpcError(codes.invalid_request, `Invalid Request: ${message}`)
