import type { operations, Pagination } from '../generated/openapi.ts'
import type { PendingAuditEntry } from './store/rows.ts'

/**
 * The types of the handlers, derived from the contract with no list of operations anywhere: a handler that is missing,
 * takes another operation's parameters or answers with another body does not compile.
 */
export type OperationId = keyof operations

type Parameter<Id extends OperationId, In extends 'path' | 'query' | 'header'> = NonNullable<
  operations[Id]['parameters'][In]
>

/** The query parameters that have a default in the contract (a test holds the list to it): those are always there. */
type Defaulted = 'page' | 'per_page' | 'status' | 'wait' | 'wait_seconds'
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

type Success<Id extends OperationId> = {
  [Status in keyof operations[Id]['responses']]: Status extends 200 | 201
    ? operations[Id]['responses'][Status] extends { content: { 'application/json': infer B } }
      ? B
      : operations[Id]['responses'][Status] extends { content: { 'text/event-stream': string } }
        ? AsyncIterable<string>
        : never
    : never
}[keyof operations[Id]['responses']]

/** Who calls, and what it may do. */
export interface Caller {
  /** The API key's id, or `environment`: the name under which it is limited, and its idempotency keys are kept. */
  id: string
  /** Its scopes, and what follows from them; an operation names those that it asks for. */
  roles: ReadonlySet<string>
  /** The relayers that it may touch; undefined: all. */
  relayer_ids: ReadonlySet<string> | undefined
  /** null: the service's. */
  rate_limit: { per_second: number; burst: number } | null
}

/** Whose notifications the caller may see and use: its own, when it is limited to relayers; undefined: all. */
export const creatorSeenBy = ({ id, relayer_ids }: Caller): string | undefined =>
  relayer_ids === undefined ? undefined : id

/** A request that has passed the contract: query defaults are filled in, numbers are numbers. */
export interface OperationRequest<Id extends OperationId> {
  path: Parameter<Id, 'path'>
  query: Query<Id>
  header: Parameter<Id, 'header'>
  body: Body<Id>
  caller: Caller
  /** What the audit trail will say of it; the handler adds what was signed, or made. */
  auditEntry: PendingAuditEntry
  /** Calls back when the answer is written, or the client is gone. */
  onClose(callback: () => void): void
}

export type Handler<Id extends OperationId> = (request: OperationRequest<Id>) => Promise<Success<Id>>
export type Handlers = { [Id in OperationId]: Handler<Id> }

/** The envelope of a single result: page 1 of 1, with 1 item. */
export const single = <T>(data: T) => ({
  success: true as const,
  data,
  error: '' as const,
  pagination: { current_page: 1, per_page: 1, total_items: 1 },
})

/** The envelope of a list. */
export const list = <T>(data: T[], pagination: Pagination) => ({
  success: true as const,
  data,
  error: '' as const,
  pagination,
})
