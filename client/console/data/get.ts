import { keepPreviousData, type UseQueryOptions, useQuery } from '@tanstack/react-query'
import type { Answer, Data, Input, ItemOf, PathOf } from '../../contract-types.ts'
import type { JsonRpcAnswer, RelayerClient, ScopeInput } from '../../index.ts'
import { useSession } from './session.tsx'

type GetPath = PathOf<'get'>

/** What is read by more than one request, or not by a GET of the contract. */
type Composed = 'transactions' | 'whole transaction' | 'search' | 'token' | 'logs' | 'block time'

declare module '@tanstack/react-query' {
  /** An answer is kept under its path and parameters; another kind of key does not compile. */
  interface Register {
    queryKey: readonly [kind: GetPath | Composed, ...of: unknown[]]
  }
}

interface Options<Whole, Shown = Whole> {
  /** It is asked again after so long; `false`: no more. */
  pollMs?: number | ((answer: Whole | undefined, error: unknown) => number | false)
  isEnabled?: boolean
  /** Only an API key with this scope asks. */
  scope?: ScopeInput
  /** It is not asked again before; infinite: it never changes. */
  freshMs?: number
  /** While other parameters load, the answer to the ones before is shown. */
  keepsPrevious?: boolean
  /** What is shown of the answer; the same function each time. */
  select?: (answer: Whole) => Shown
}

/** A GET of the contract as a query. */
function answerQuery<P extends GetPath, Shown = Answer<P, 'get'>>(
  client: RelayerClient,
  path: P,
  params: Input<P, 'get'>,
  { pollMs, isEnabled = true, freshMs, keepsPrevious = false, select }: Options<Answer<P, 'get'>, Shown> = {},
): UseQueryOptions<Answer<P, 'get'>, Error, Shown> {
  return {
    queryKey: [path, params],
    queryFn: ({ signal }) => read(client, path, params, signal),
    enabled: isEnabled,
    refetchInterval: typeof pollMs === 'function' ? ({ state }) => pollMs(state.data, state.error) : (pollMs ?? false),
    ...(freshMs !== undefined && { staleTime: freshMs }),
    ...(keepsPrevious && { placeholderData: previous }),
    ...(select && { select }),
  }
}

/** Its type is that of any answer. */
const previous = keepPreviousData as never

/** The same for several at once, of which the member `data` is shown. */
export const dataQuery = <P extends GetPath>(
  client: RelayerClient,
  path: P,
  params: Input<P, 'get'>,
  options: Options<Answer<P, 'get'>> = {},
) => answerQuery<P, Data<P, 'get'>>(client, path, params, { ...options, select: dataOf })

/** A whole answer, with its pagination, or what `select` shows of it. */
export function useAnswer<P extends GetPath, Shown = Answer<P, 'get'>>(
  path: P,
  params: Input<P, 'get'>,
  { scope, ...options }: Options<Answer<P, 'get'>, Shown> = {},
) {
  const { client, may } = useSession()
  const isEnabled = (options.isEnabled ?? true) && (scope === undefined || may(scope))
  return useQuery(answerQuery<P, Shown>(client, path, params, { ...options, isEnabled }))
}

/** The member `data` of an answer. All parts of the console that ask the same share one answer. */
export const useGet = <P extends GetPath>(path: P, params: Input<P, 'get'>, options: Options<Answer<P, 'get'>> = {}) =>
  useAnswer<P, Data<P, 'get'>>(path, params, { ...options, select: dataOf })

/** The items of all pages of a list. */
export function useEveryPage<P extends GetPath>(
  path: P,
  params: Input<P, 'get'>,
  { pollMs, keepsPrevious, scope }: { pollMs: number; keepsPrevious?: boolean; scope?: ScopeInput },
) {
  const { client, may } = useSession()
  return useQuery<ItemOf<P>[]>({
    queryKey: [path, params, 'every page'],
    queryFn: ({ signal }) => readEveryPage(client, path, params, signal),
    enabled: scope === undefined || may(scope),
    refetchInterval: pollMs,
    ...(keepsPrevious && { placeholderData: previous }),
  })
}

const maxPerPage = 1_000

export async function readEveryPage<P extends GetPath>(
  client: RelayerClient,
  path: P,
  params: Input<P, 'get'>,
  signal?: AbortSignal,
): Promise<ItemOf<P>[]> {
  const items: ItemOf<P>[] = []
  for (let page = 1; ; page += 1) {
    const query = { ...(params as { query?: object }).query, page, per_page: maxPerPage }
    const answer = await read(client, path, { ...params, query } as Input<P, 'get'>, signal)
    const { data, pagination } = answer as { data: ItemOf<P>[]; pagination: { total_items: number } }
    items.push(...data)
    if (data.length === 0 || items.length >= pagination.total_items) return items
  }
}

const dataOf = <Whole, Shown>(answer: Whole): Shown => (answer as { data: Shown }).data

/** The client's own type asks for a literal path. */
const read = <P extends GetPath>(client: RelayerClient, path: P, params: Input<P, 'get'>, signal?: AbortSignal) =>
  client.get(path, ...([{ ...params, ...(signal && { signal }) }] as never)) as Promise<Answer<P, 'get'>>

const rpc = '/api/v1/relayers/{relayer_id}/rpc'

/** What a node of the relayer's network answers. Throws the error that it answers. */
export async function askNode<Result>(
  client: RelayerClient,
  relayerId: string,
  call: { method: string; params: unknown[] },
  signal: AbortSignal,
): Promise<Result | null> {
  const body = { jsonrpc: '2.0', id: 1, ...call }
  const answer = await client.post(rpc, { path: { relayer_id: relayerId }, body, signal })
  const { result, error } = answer as JsonRpcAnswer
  if (error) throw new Error(error.message)
  return (result ?? null) as Result | null
}
