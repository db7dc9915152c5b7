import type { components, JsonRpcAnswer } from '../../../generated/openapi.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Caller, Handlers, JsonRpcOperation, OperationId, OperationRequest } from '../../domain/operation.ts'
import type { PoolRow, RelayerRow } from '../../domain/rows.ts'
import type { SerialQueue } from '../../lib/in-order.ts'
import type { ServicesContext } from '../../services/context.ts'
import type { WaitPlace } from '../../services/transactions/wait-for-status.ts'
import type { ContractDocument } from '../http/document.ts'
import { statusOf } from '../http/errors.ts'
import { schemaCheck } from '../http/schema-check.ts'
import { codes, type ErrorObject, inTheirNames, invalidParams, JsonRpcError } from './errors.ts'

/** What a call needs of the service. Most methods are an operation of the contract, with its rights, policies and limits. */
export interface JsonRpcDependencies extends ServicesContext {
  operations: Omit<Handlers, JsonRpcOperation>
  contract: ContractDocument
}

/** Its own right is none to the operations that its calls carry out. */
export type Request = Omit<OperationRequest<'callRelayerJsonRpc'>, 'path' | 'authorize'>

/** One call, with all that its method needs. */
export interface Context extends Call {
  /** The relayers whose accounts the endpoint has: one, or those of a pool. */
  relayers: RelayerRow[]
  /** Of `relayers`: the one that answers for all, or whose account the call names. */
  relayer: RelayerRow
  pool: PoolRow | undefined
  request: Request
  /** The place in a batch; undefined for a single call. */
  index: number | undefined
  /** Calls back at the end of the request. */
  onClose(callback: () => void): void
  /** The place of the request among those that wait. Throws DomainError (429, 503). */
  place(): WaitPlace
  /** The order of the request's transactions. */
  inOrder: SerialQueue
  /** By relayer (row id): the time until which calls of the request wait for a signature. Each signature prolongs it. */
  patience: Map<number, number>
  /**
   * Authorizes the caller for an operation again, and carries it out with an audit entry of its own. `status`: its HTTP status on success.
   */
  as<T>(operation: OperationId, status: number, work: (its: Authorized) => Promise<T>): Promise<T>
  /** The same call by the relayer with this address, which the caller must be permitted to use itself. Throws JsonRpcError. */
  by(account: unknown): Context
}

/** An operation that a call carries out: its audit entry, and its rights again. */
export type Authorized = Pick<OperationRequest<OperationId>, 'auditEntry' | 'authorize'>

/** Carries out an operation for a request that the caller has the right to, with an audit entry of its own. `status`: on success. */
export async function withAudit<T>(
  { authorizeFor, beginAudit }: Pick<Request, 'authorizeFor' | 'beginAudit'>,
  operation: OperationId,
  { status, relayer_id, check }: { status: number; relayer_id?: string | undefined; check?(caller: Caller): unknown },
  work: (its: Authorized) => Promise<T>,
): Promise<T> {
  const authorize = async () => {
    const caller = await authorizeFor(operation)
    await check?.(caller)
    return caller
  }
  await authorize()
  const { auditEntry, end } = beginAudit(operation)
  if (relayer_id !== undefined) auditEntry.relayer_id = relayer_id
  try {
    const result = await work({ auditEntry, authorize })
    end(status)
    return result
  } catch (error) {
    const status =
      error instanceof DomainError ? statusOf[error.code] : error instanceof JsonRpcError ? error.status : 500
    end(status, error)
    throw error
  }
}

/** The members of a request of any operation. */
export const partsOf = ({
  relayer,
  request,
}: {
  relayer: Pick<Context['relayer'], 'id'>
  request: Omit<Context['request'], 'body' | 'header' | 'query'>
}) => ({
  path: { relayer_id: relayer.id },
  query: undefined as never,
  header: undefined as never,
  caller: request.caller,
  idempotency: undefined,
  ifMatch: undefined,
  beginAudit: request.beginAudit,
  authorizeFor: request.authorizeFor,
  onClose: request.onClose,
  hasLeft: request.hasLeft,
  nodes: request.nodes,
  holdAnswer: request.holdAnswer,
})

export type Method = (context: Context) => Promise<unknown>

export type Id = string | number | null

/** A call of JSON-RPC 2.0 (section 4). `id` is undefined for a notification. */
interface Call {
  id: Id | undefined
  method: string
  params: unknown[]
}

const maxIdLength = 255
const maxMethodLength = 100
const maxParams = 10

/** The id of the response, also for an invalid call; undefined: a notification, which has no response. */
function idOf(member: unknown): Id | undefined {
  if (typeof member !== 'object' || member === null || Array.isArray(member)) return null
  const { id, method } = member as { id?: unknown; method?: unknown }
  // A notification has a method. An object without id and method is an invalid call, which gets a response.
  if (id === undefined) return typeof method === 'string' ? undefined : null
  return isId(id) ? id : null
}

const isId = (id: unknown): id is Id =>
  id === null || typeof id === 'number' || (typeof id === 'string' && id.length <= maxIdLength)

/** Throws JsonRpcError (-32600, -32602). */
export function readCall(member: unknown): Call {
  if (typeof member !== 'object' || member === null || Array.isArray(member)) throw invalid('a call must be an object')
  const { jsonrpc, id, method, params = [] } = member as Record<string, unknown>
  if (jsonrpc !== '2.0') throw invalid('jsonrpc must be "2.0"')
  if (id !== undefined && !isId(id))
    throw invalid(`id must be a number, a text of at most ${maxIdLength} characters, or null`)
  if (typeof method !== 'string' || method.length > maxMethodLength)
    throw invalid('method must be the name of a method')
  if (!Array.isArray(params)) throw invalidParams('params must be an array')
  if (params.length > maxParams) throw invalidParams(`params must have at most ${maxParams} members`)
  return { id, method, params }
}

/** The response to a call, whose errors `tell` knows; undefined for a notification. Another error is logged. */
export async function answerTo(
  member: unknown,
  unexpected: (error: unknown) => void,
  tell: (error: unknown) => ErrorObject | undefined,
  run: () => Promise<unknown>,
): Promise<JsonRpcAnswer | undefined> {
  const id = idOf(member)
  const outcome = await run().then(
    (result) => ({ result }),
    (error) => {
      const known = tell(error)
      if (!known) unexpected(error)
      return { error: known ?? { code: codes.internal, message: 'Internal error' } }
    },
  )
  return id === undefined ? undefined : { jsonrpc: '2.0', id, ...outcome }
}

/** The response to a body that has no call. */
export const refusal = ({ code, message }: JsonRpcError): JsonRpcAnswer => ({
  jsonrpc: '2.0',
  id: null,
  error: { code, message },
})

export const invalid = (message: string): JsonRpcError =>
  new JsonRpcError(codes.invalid_request, `Invalid Request: ${message}`)

type Schemas = components['schemas']

/**
 * A parameter as the contract's schema has it. What callers send is `unknown`, and this is the only way from there to an operation.
 * Throws JsonRpcError (-32602).
 */
export function checked<Name extends keyof Schemas>(
  contract: ContractDocument,
  name: Name,
  given: unknown,
  tell: (fault: string) => string = inTheirNames,
): Schemas[Name] {
  const fault = schemaCheck(contract, name)(given)
  if (fault !== undefined) throw invalidParams(tell(fault))
  return given as Schemas[Name]
}
