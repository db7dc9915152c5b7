import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Event, Transaction, TransactionStatus } from '../../index.ts'
import { followEvents } from './events.ts'
import { useSession } from './session.tsx'

const per_page = 200
const fresh_ms = 10_000
const flush_ms = 500
/** The shortest interval between two reloads of a filtered list. */
const ask_ms = 3_000
const list = '/api/v1/relayers/{relayer_id}/transactions/'

export interface Filter {
  status?: TransactionStatus[]
  reference?: string
  hash?: string
  to?: string
  nonce_from?: number
  nonce_to?: number
}

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

/** The transactions of a relayer, newest first, page by page. */
export function useTransactions(relayer_id: string, filter: Filter) {
  const { client } = useSession()
  return useInfiniteQuery({
    queryKey: ['transactions', relayer_id, filter],
    queryFn: async ({ pageParam, signal }): Promise<Page> =>
      client.get(list, { path: { relayer_id }, query: { ...filter, page: pageParam, per_page }, signal }),
    initialPageParam: 1,
    getNextPageParam: ({ pagination: { current_page, total_items } }) =>
      current_page * per_page < total_items ? current_page + 1 : undefined,
    staleTime: fresh_ms,
  })
}

/** Follows the relayer's events: updates changed transactions in place, and inserts new ones at the top. `tell` gets each event. */
export function useLive(relayer_id: string, tell: (event: Event) => void) {
  const { token } = useSession()
  const queries = useQueryClient()
  useEffect(() => {
    const ended = new AbortController()
    const changed = new Map<string, Transaction>()
    const reload = (which: (filter: Filter) => boolean) =>
      queries.invalidateQueries({
        queryKey: ['transactions', relayer_id],
        predicate: ({ queryKey }) => which(queryKey[2] as Filter),
      })
    let mayMatch = false
    const flush = setInterval(() => {
      if (changed.size === 0) return
      const news = new Map(changed)
      changed.clear()
      mayMatch = true
      for (const [key] of queries.getQueriesData({ queryKey: ['transactions', relayer_id] }))
        queries.setQueryData<InfiniteData<Page>>(
          key,
          (pages) => pages && withNews(pages, news, isFiltered(key[2] as Filter)),
        )
    }, flush_ms)
    const ask = setInterval(() => {
      if (mayMatch) void reload(isFiltered)
      mayMatch = false
    }, ask_ms)
    void followEvents(token, relayer_id, ended.signal, {
      opened: () => void reload(() => true),
      tell(event) {
        tell(event)
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
  }, [token, relayer_id, queries, tell])
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
  const total_items = first.pagination.total_items + added.length
  return {
    ...pages,
    pages: [{ data: [...added, ...first.data], pagination: { ...first.pagination, total_items } }, ...others],
  }
}
