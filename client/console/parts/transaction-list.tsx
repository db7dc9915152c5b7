import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef } from 'react'
import { Link } from 'wouter'
import type { Transaction, TransactionStatus } from '../../index.ts'
import { age, count, ether, short } from '../data/format.ts'
import { type Filter, type Place, useTransactions } from '../data/transactions.ts'
import { Badge } from './badge.tsx'
import type { Choice } from './bulk.tsx'
import { Loaded } from './feedback.tsx'
import { transactionPath } from './links.tsx'

const row_px = 41
const overscan = 8
const isFinal = (status: TransactionStatus) => ['confirmed', 'failed', 'canceled', 'expired'].includes(status)

/** A virtual list: renders the visible rows only, and loads pages as the user scrolls. */
export function TransactionList({
  place,
  filter,
  choice,
}: {
  place: Place
  filter: Filter
  choice?: Choice<Transaction>
}) {
  const query = useTransactions(place, filter)
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query
  // A page may repeat rows of the previous page if transactions arrived in between.
  const rows = useMemo(
    () => [...new Map(query.data?.pages.flatMap(({ data }) => data.map((row) => [row.id, row] as const))).values()],
    [query.data],
  )
  const unfinished = rows.filter(({ status }) => !isFinal(status))
  const total = query.data?.pages[0]?.pagination.total_items ?? 0
  const scroller = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => row_px,
    overscan,
  })
  const shown = list.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && last >= rows.length - overscan * 2) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, last, rows.length])

  return (
    <Loaded query={query} lines={6}>
      {() =>
        rows.length === 0 ? (
          <p>No transaction matches.</p>
        ) : (
          <>
            <div className="bar">
              <p className="hint" role="status">
                {count(total)} transactions, newest first
              </p>
              {choice && unfinished.length > 0 && (
                <button type="button" onClick={() => choice.set(unfinished)}>
                  Choose the {count(unfinished.length)} unfinished
                </button>
              )}
            </div>
            <section
              className={'relayer_id' in place ? 'list' : 'list of-many'}
              ref={scroller}
              aria-label="Transactions"
              style={{ height: list.getTotalSize() + 2 }}
            >
              <ul style={{ height: list.getTotalSize() }}>
                {shown.map(({ index, start }) => {
                  const row = rows[index]
                  if (!row) return null
                  return (
                    <li key={row.id} style={{ transform: `translateY(${start}px)`, height: row_px }}>
                      {choice && (
                        <input
                          type="checkbox"
                          aria-label={`Choose ${row.relayer_id} ${row.nonce ?? row.id}`}
                          checked={choice.has(row)}
                          onChange={() => choice.toggle(row)}
                        />
                      )}
                      <Link to={transactionPath(row)}>
                        <span className="nonce">{row.nonce ?? '–'}</span>
                        {!('relayer_id' in place) && <span className="relayer">{row.relayer_id}</span>}
                        <Badge state={row.status} />
                        <code>{row.hash === null ? 'not signed' : short(row.hash)}</code>
                        <span className="to">{row.to === null ? 'new contract' : `to ${short(row.to)}`}</span>
                        <span className="number">{ether(row.value)}</span>
                        <span className="reason">{row.status_reason ?? row.reference ?? ''}</span>
                        <span className="hint">{age(row.created_at)}</span>
                      </Link>
                    </li>
                  )
                })}
              </ul>
            </section>
          </>
        )
      }
    </Loaded>
  )
}
