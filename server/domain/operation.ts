import type { operations, Pagination } from '../../generated/openapi.ts'
import type { NodeAccess } from './node-access.ts'
import type { KeyBudget } from './policies/budgets.ts'
import type { IfMatch } from './revision.ts'
import type { Listing, PageRequest, PendingAuditEntry } from './rows.ts'

/**
 * What callers ask for; the webhook is a request of the service. The types of the handlers are derived from the contract: a missing
 * handler, wrong parameters or a wrong response body is a compile error.
 */
export type OperationId = Exclude<keyof operations, 'receiveEvent'>

type Parameter<Id extends OperationId, In extends 'path' | 'query' | 'header'> = NonNullable<
  operations[Id]['parameters'][In]
>

/** Those whose methods and tools are operations themselves. */
export type JsonRpcOperation = 'callRelayerJsonRpc' | 'callPoolJsonRpc' | 'callSponsoredJsonRpc' | 'callMcp'

/** The query parameters with a default in the contract, which are always present. A test compares this list with the contract. */
type Defaulted =
  | 'page'
  | 'per_page'
  | 'status'
  | 'wait'
  | 'wait_seconds'
  | 'period'
  | 'days'
  | 'submission'
  | 'exclude_service'
type Query<Id extends OperationId> = WithDefaults<Parameter<Id, 'query'>>
type WithDefaults<T> = [T] extends [never] ? never : Omit<T, Defaulted> & Required<Pick<T, Extract<keyof T, Defaulted>>>

type Body<Id extends OperationId> = operations[Id] extends { requestBody: { content: { 'application/json': infer B } } }
  ? B
  : OptionalBody<NonNullable<operations[Id]['requestBody']>>
type OptionalBody<T> = [T] extends [never]
  ? undefined
  : T extends { content: { 'application/json': infer B } }
    ? B
    : undefined

/** What a handler returns: the data of the success, which is a page where the contract has pages or a list, or events. */
type Result<Id extends OperationId> = {
  [Status in keyof operations[Id]['responses']]: Status extends 200 | 201
    ? operations[Id]['responses'][Status] extends { content: { 'application/json': infer B } }
      ? DataIn<B, HasPages<Id>>
      : operations[Id]['responses'][Status] extends { content: { 'text/event-stream': string } }
        ? AsyncIterable<string>
        : never
    : Status extends 202 | 204
      ? undefined
      : never
}[keyof operations[Id]['responses']]

type HasPages<Id extends OperationId> = [Parameter<Id, 'query'>] extends [never]
  ? false
  : 'page' extends keyof Parameter<Id, 'query'>
    ? true
    : false

/** JSON-RPC has no envelope. */
type DataIn<B, Paged extends boolean> = B extends { success: boolean; error: string; data: infer Data }
  ? Paged extends true
    ? Page<Data>
    : [Data] extends [unknown[]]
      ? Page<Data>
      : Data
  : B

export const deleted = (id: string) => ({ id, deleted: true })

/** Undefined when there was nothing to delete. */
export const deletedIf = (isDeleted: boolean, id: string) => (isDeleted ? deleted(id) : undefined)

/** A page of a list, or of data that contains one. */
export class Page<Data> {
  readonly data: Data
  readonly pagination: Pagination

  constructor(data: Data, pagination: Pagination) {
    this.data = data
    this.pagination = pagination
  }

  /** A list on one page. */
  static whole<Item>(items: Item[]): Page<Item[]> {
    return new Page(items, { current_page: 1, per_page: items.length, total_items: items.length })
  }
}

const maxPerPage = 1_000

/**
 * Returns one page of a list. Page 0 is page 1. A `per_page` above 1,000 is 1,000. A page past the end is empty and has the true
 * total.
 */
export async function page<Row, T>(
  query: { page: number; per_page: number },
  read: (slice: PageRequest) => Promise<Listing<Row>>,
  show: (row: Row) => T,
): Promise<Page<T[]>> {
  const currentPage = Math.max(query.page, 1)
  const perPage = Math.min(query.per_page, maxPerPage)
  // Above 2^53 the product is inexact, but then it is past the end of every list.
  const offset = Math.min((currentPage - 1) * perPage, Number.MAX_SAFE_INTEGER)
  const { items, total_items } = await read({ offset, limit: perPage })
  return new Page(items.map(show), { current_page: currentPage, per_page: perPage, total_items })
}

/** The authenticated caller and its permissions. */
export interface Caller {
  /** The API key's id, or `environment` for API_KEY. Rate limits and idempotency keys are kept per id. */
  id: string
  /** The API key's scopes, and the roles that they imply. An operation requires one or more roles. */
  roles: ReadonlySet<string>
  /** The relayers that the caller may use; undefined: all. */
  relayer_ids: ReadonlySet<string> | undefined
  /** The pools that the caller may use without rights to their relayers. */
  pool_ids: ReadonlySet<string>
  /** Requests per second; null: the service's default. */
  rate_limit: { per_second: number; burst: number } | null
  /** What the caller may move; undefined: what its relayers allow. */
  budget: KeyBudget | undefined
}

/** A limited resource of the process that callers share. Throws DomainError (429, 503). */
export interface Share {
  hold(caller: Caller, amount: number): { release(): void }
}

/**
 * The creator to which the notifications that the caller may see and use are limited: the caller itself, when it is limited to some
 * relayers; undefined: all notifications.
 */
export const creatorSeenBy = ({ id, relayer_ids }: Caller): string | undefined =>
  relayer_ids === undefined ? undefined : id

/** A repeated request of the caller with this key gets the first one's answer. */
export interface Idempotency {
  caller: string
  key: string
  /** Of what is the same request; absent: of the body. */
  body_hash?: string
}

/** A validated request: query defaults are filled in, and numbers are parsed. */
export interface OperationRequest<Id extends OperationId> {
  path: Parameter<Id, 'path'>
  query: Query<Id>
  header: Parameter<Id, 'header'>
  body: Body<Id>
  caller: Caller
  /** Where the contract has the header Idempotency-Key, except in JSON-RPC, whose calls have keys of their own. */
  idempotency: Idempotency | undefined
  /** The revisions that a change was made from, where the contract has the header If-Match. */
  ifMatch: IfMatch | undefined
  /** The request's audit entry. The handler sets `subject`: the signed digest, or the id of the changed resource. */
  auditEntry: PendingAuditEntry
  /**
   * Begins the audit entry of another operation that this request carries out; `end` completes it with an HTTP status, and the error of a
   * failure. Throws DomainError (503) while the trail cannot be written.
   */
  beginAudit(operation: OperationId): { auditEntry: PendingAuditEntry; end(httpStatus: number, error?: unknown): void }
  /**
   * Authenticates the caller again and checks its rights to this operation: before each member of a batch, and before a key is used. Throws
   * DomainError (401, 403, 404).
   */
  authorize(): Promise<Caller>
  /** The same for another operation that this request carries out, on a relayer, which is that of the path unless another is given. */
  authorizeFor(operation: OperationId, relayerId?: string): Promise<Caller>
  /** The request's access to nodes. */
  nodes: NodeAccess
  /**
   * Holds so many bytes of the response under the caller's share until it is written; a later call holds what is more. Throws DomainError
   * (429, 503). To be called before anything is changed.
   */
  holdAnswer(bytes: number): void
  /** Calls back when the response is written or the client has disconnected. */
  onClose(callback: () => void): void
  /** Whether the client closed the connection before the response was written, as it does after a timeout of its own. */
  hasLeft(): boolean
}

/** The names of the path's parameters. */
type PathNames<Id extends OperationId> = [Parameter<Id, 'path'>] extends [never] ? never : keyof Parameter<Id, 'path'>
export type PathParameter = { [Id in OperationId]: PathNames<Id> }[OperationId]

/**
 * Undefined: the resource that the path names last does not exist (404). Of relayers the services tell, which find them beside their key.
 */
type Missing<Id extends OperationId> = [Exclude<PathNames<Id>, 'relayer_id'>] extends [never] ? never : undefined

export type Handler<Id extends OperationId> = (request: OperationRequest<Id>) => Promise<Result<Id> | Missing<Id>>
export type Handlers = { [Id in OperationId]: Handler<Id> }
