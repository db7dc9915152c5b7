import type { paths } from '../generated/client.ts'
import type { ApiPromise, CallOptions, WithResponse } from './call.ts'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** The contract's paths that have the method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P][M] extends { responses: unknown } ? P : never
}[keyof paths]

export type Parameter<
  P extends keyof paths,
  M extends Method,
  In extends 'path' | 'query' | 'header',
> = paths[P][M] extends {
  parameters: { [I in In]?: infer T }
}
  ? T
  : undefined

export type Body<P extends keyof paths, M extends Method> = paths[P][M] extends {
  requestBody: { content: { 'application/json': infer B } }
}
  ? B
  : paths[P][M] extends { requestBody?: infer R }
    ? OptionalBody<NonNullable<R>>
    : undefined

type OptionalBody<R> = [R] extends [never]
  ? undefined
  : R extends { content: { 'application/json': infer B } }
    ? B | undefined
    : undefined

/** A member that is optional when none of its own members is required. */
type Part<Name extends string, T> = [T] extends [undefined]
  ? unknown
  : Record<string, never> extends T
    ? { [N in Name]?: T }
    : undefined extends T
      ? { [N in Name]?: T }
      : { [N in Name]: T }

export type Input<P extends keyof paths, M extends Method> = Part<'path', Parameter<P, M, 'path'>> &
  Part<'query', Parameter<P, M, 'query'>> &
  Part<'header', Parameter<P, M, 'header'>> &
  Part<'body', Body<P, M>> &
  CallOptions

export type Arguments<T> = Record<string, never> extends T ? [input?: T] : [input: T]

/** The body of a success: `{success, data, error, pagination}`. */
export type Answer<P extends keyof paths, M extends Method> = paths[P][M] extends { responses: infer R }
  ? {
      [S in keyof R]: S extends 200 | 201
        ? R[S] extends { content: { 'application/json': infer B } }
          ? B
          : never
        : never
    }[keyof R]
  : never

type ListPath = {
  [P in PathOf<'get'>]: Answer<P, 'get'> extends { data: { id: string }[] } ? P : never
}[PathOf<'get'>]

/** The service accepts these paths with and without the last slash. */
type WithoutSlash<P> = P extends `${infer Start}/` ? Start : P
export type Listed<P> = P extends ListPath ? P : `${P & string}/` & ListPath

export type Item<P extends ListPath> = Answer<P, 'get'> extends { data: (infer T)[] } ? T : never

export type Call<M extends Method> = <P extends PathOf<M>>(
  path: P,
  ...input: Arguments<Input<P, M>>
) => ApiPromise<Answer<P, M>>

type Query<P extends keyof paths, M extends Method> = NonNullable<Parameter<P, M, 'query'>>
/** The members of the query, and the options of every call. */
export type Options<P extends keyof paths, M extends Method> = ([Query<P, M>] extends [never] ? unknown : Query<P, M>) &
  CallOptions &
  ('If-Match' extends keyof NonNullable<Parameter<P, M, 'header'>> ? MadeFrom : unknown)

/** Options of an operation that changes a resource. */
export interface MadeFrom {
  /** The `revision` that the change was made from, or `*` for any: another one is refused with 412, and nothing is changed. */
  revision?: string
}

/** Options of an operation that takes an Idempotency-Key. */
export interface Once {
  /** Identifies the request: the same key does nothing twice. Default: a random one. */
  idempotencyKey?: string
}

/** The member `data` of a success; the whole of one without an envelope. */
export type Data<P extends keyof paths, M extends Method> = Answer<P, M> extends { data: infer T } ? T : Answer<P, M>

/** The item of a list. */
export type ItemOf<P extends keyof paths> = Data<P, 'get'> extends (infer T)[] ? T : never

/** Every operation by its method and path. */
export interface ClientByPath {
  get: Call<'get'>
  post: Call<'post'>
  put: Call<'put'>
  patch: Call<'patch'>
  delete: Call<'delete'>
  /**
   * All items of a list, page by page. An item that moves to a later page during the iteration is returned once. An item that moves
   * to an earlier page, because others were deleted, may be skipped.
   */
  all<P extends ListPath | WithoutSlash<ListPath>>(
    path: P,
    ...input: Arguments<Input<Listed<P>, 'get'>>
  ): AsyncGenerator<Item<Listed<P>>, void, undefined>
}

/** What the generator writes of an operation: its HTTP method and path, and how it is called. */
export type Described = readonly [method: Method, path: string, form: Form]
/** `list`: page by page. `body`: has a body. `once`: has an Idempotency-Key. */
export type Form = 'plain' | 'list' | 'body' | 'once' | 'once without body'

/** Any input of an operation. */
export interface AnyInput extends CallOptions {
  path?: Record<string, string>
  query?: Record<string, unknown>
  header?: Record<string, string>
  body?: unknown
}

/** Calls an operation and resolves to the body of its success. With an Idempotency-Key it is repeated while its outcome is unknown. */
export type Send = (
  method: Method,
  path: string,
  input: AnyInput,
  hasKey?: boolean,
) => Promise<WithResponse<{ data: unknown }>>
