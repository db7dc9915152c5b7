import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { RelayerClient, Transaction } from '../../index.ts'
import { followEvents } from '../data/events.ts'
import { useSession } from '../data/session.tsx'
import type { Filter } from './transaction-filter.ts'

const perPage = 200
const freshMs = 10_000
const flushMs = 500
/** The shortest interval between two reloads of a filtered list. */
const askMs = 3_000
/** The service lists so many by page. */
const maxListed = 10_000

/** Whose transactions: those of a relayer, of a pool, or all that the API key may see. */
export type Place = { relayer_id: string } | { pool_id: string } | { all: true }

/** Events of earlier versions lack members that were added later. */
const unset = {
  ended_at: null,
  receipt: null,
  error: null,
  reference: null,
  access_list: null,
  authorization_list: null,
}

interface Page {
  data: Transaction[]
  pagination: { total_items: number; current_page: number }
}

/** A page of transactions, newest first. Nonces filter those of a relayer only. */
function listPage(
  client: RelayerClient,
  place: Place,
  { nonce_from, nonce_to, ...filter }: Filter,
  slice: { page: number; per_page: number; signal?: AbortSignal },
): Promise<Page> {
  const { signal, ...paged } = slice
  const query = { ...filter, ...paged }
  const how = signal ? { signal } : {}
  if ('pool_id' in place) return client.get('/api/v1/transactions', { query: { ...query, ...place }, ...how })
  if ('all' in place) return client.get('/api/v1/transactions', { query, ...how })
  const nonces = { ...(nonce_from !== undefined && { nonce_from }), ...(nonce_to !== undefined && { nonce_to }) }
  const list = '/api/v1/relayers/{relayer_id}/transactions/'
  return client.get(list, { path: place, query: { ...query, ...nonces }, ...how })
}

/** The transactions of a place, newest first, page by page. */
export function useTransactions(place: Place, filter: Filter) {
  const { client } = useSession()
  return useInfiniteQuery({
    queryKey: ['transactions', 'relayer_id' in place ? place.relayer_id : place, filter],
    queryFn: ({ pageParam, signal }) => listPage(client, place, filter, { page: pageParam, per_page: perPage, signal }),
    initialPageParam: 1,
    getNextPageParam: ({ pagination: { current_page, total_items } }) =>
      current_page * perPage < Math.min(total_items, maxListed) ? current_page + 1 : undefined,
    staleTime: freshMs,
    // Only a relayer's list follows its events.
    refetchInterval: 'relayer_id' in place ? false : askMs * 2,
  })
}

const exportPage = 1_000
export const csvHeader = [
  ...[
    'id',
    'relayer_id',
    'network',
    'symbol',
    'decimals',
    'nonce',
    'status',
    'status_reason',
    'hash',
    'from',
    'to',
    'value',
    'gas_limit',
    'gas_used',
  ],
  ...['effective_gas_price', 'fee', 'block_number', 'created_at', 'sent_at', 'confirmed_at', 'ended_at', 'reference'],
]

/** In which currency a relayer's amounts are. */
export type UnitOf = (relayerId: string) => { network: string | undefined; symbol: string; decimals: number }

function csvRow(transaction: Transaction, unitOf: UnitOf): unknown[] {
  const members: Record<string, unknown> = { ...transaction.receipt, ...transaction, ...unitOf(transaction.relayer_id) }
  return csvHeader.map((name) => members[name])
}

/**
 * All transactions that were accepted before now, newest first. It goes on before the oldest that it has read, so that none is left out when
 * others leave the filter meanwhile; those of the same millisecond come twice, and are given once.
 */
export async function* allTransactions(
  client: RelayerClient,
  place: Place,
  filter: Filter,
  unitOf: UnitOf,
): AsyncIterable<unknown[][]> {
  let createdBefore = filter.created_before ?? new Date().toISOString()
  let seen = new Set<string>()
  for (let page = 1; ; ) {
    const { data } = await listPage(
      client,
      place,
      { ...filter, created_before: createdBefore },
      { page, per_page: exportPage },
    )
    const news = data.filter(({ id }) => !seen.has(id))
    yield news.map((one) => csvRow(one, unitOf))
    const oldest = data.at(-1)
    if (!oldest || data.length < exportPage) return
    page = news.length === 0 ? page + 1 : 1
    if (page === 1) createdBefore = new Date(Date.parse(oldest.created_at) + 1).toISOString()
    seen = new Set(data.map(({ id }) => id))
  }
}

/** Follows the relayer's events: updates changed transactions in place, and inserts new ones at the top. */
export function useLive(relayerId: string) {
  const { token } = useSession()
  const queries = useQueryClient()
  useEffect(() => {
    const ended = new AbortController()
    const changed = new Map<string, Transaction>()
    const reload = (which: (filter: Filter) => boolean) =>
      queries.invalidateQueries({
        queryKey: ['transactions', relayerId],
        predicate: ({ queryKey }) => which(queryKey[2] as Filter),
      })
    let mayMatch = false
    const flush = setInterval(() => {
      if (changed.size === 0) return
      const news = new Map(changed)
      changed.clear()
      mayMatch = true
      for (const [key] of queries.getQueriesData({ queryKey: ['transactions', relayerId] }))
        queries.setQueryData<InfiniteData<Page>>(
          key,
          (pages) => pages && withNews(pages, news, isFiltered(key[2] as Filter)),
        )
    }, flushMs)
    const ask = setInterval(() => {
      if (mayMatch) void reload(isFiltered)
      mayMatch = false
    }, askMs)
    void followEvents(token, relayerId, ended.signal, {
      opened: () => void reload(() => true),
      tell(event) {
        if (event.payload.payload_type !== 'transaction') return
        const { payload_type: _, ...fields } = event.payload
        changed.set(fields.id, { ...unset, ...fields })
      },
    })
    return () => {
      ended.abort()
      clearInterval(flush)
      clearInterval(ask)
    }
  }, [token, relayerId, queries])
}

const isFiltered = (filter: Filter) => Object.keys(filter).length > 0

function withNews(pages: InfiniteData<Page>, news: Map<string, Transaction>, isPartial: boolean): InfiniteData<Page> {
  const unseen = new Map(news)
  const shown = pages.pages.map((page) => ({
    ...page,
    data: page.data.map((transaction) => {
      unseen.delete(transaction.id)
      return news.get(transaction.id) ?? transaction
    }),
  }))
  const [first, ...others] = shown
  const oldest = shown.at(-1)?.data.at(-1)
  const added = [...unseen.values()]
    .filter(({ id }) => oldest === undefined || id > oldest.id)
    .sort((a, b) => (a.id < b.id ? 1 : -1))
  if (!first || isPartial || added.length === 0) return { ...pages, pages: shown }
  const totalItems = first.pagination.total_items + added.length
  return {
    ...pages,
    pages: [
      { data: [...added, ...first.data], pagination: { ...first.pagination, total_items: totalItems } },
      ...others,
    ],
  }
}
