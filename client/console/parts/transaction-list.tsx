import { useVirtualizer, useWindowVirtualizer } from '@tanstack/react-virtual'
import { ArrowLeftRight } from 'lucide-react'
import { type CSSProperties, type ReactNode, type RefObject, useEffect, useMemo, useRef } from 'react'
import { Link } from 'wouter'
import type { Transaction } from '../../index.ts'
import type { Filter } from '../data/filter.ts'
import { count } from '../data/format.ts'
import { useNames } from '../data/names.ts'
import { noteOf } from '../data/note.ts'
import type { NothingFound } from '../data/nothing-found.ts'
import { useSymbolsOfRelayers } from '../data/overview.ts'
import { usePhone } from '../data/phone.ts'
import { isFinal, isSlow } from '../data/statuses.ts'
import { type Place, useTransactions } from '../data/transactions.ts'
import { type Choice, ChooseRow } from './choice.tsx'
import { Loaded } from './feedback.tsx'
import { Matches } from './filters.tsx'
import { nonceName, RelayerLink, transactionName, transactionPath } from './links.tsx'
import { Age } from './moment.tsx'
import { ClearFilters, Nothing, SendOne } from './nothing.tsx'
import { TransactionState } from './transaction-state.tsx'
import { type Names, receiverOf, Value } from './transaction-value.tsx'

const row_px = 40
const phone_row_px = 64
const overscan = 8

type Scroller = RefObject<HTMLDivElement | null>

const useRowsOfBox = (count: number, scroller: Scroller) =>
  useVirtualizer({ count, overscan, estimateSize: () => row_px, getScrollElement: () => scroller.current })

const useRowsOfPage = (count: number, scroller: Scroller) =>
  useWindowVirtualizer({
    count,
    overscan,
    estimateSize: () => phone_row_px,
    scrollMargin: scroller.current?.offsetTop ?? 0,
  })

interface ListProps {
  place: Place
  filter: Filter
  /** What is said where nothing matches. */
  none: NothingFound
  /** Shows all again. */
  clear(): void
  /** Buttons for the whole list. */
  actions: ReactNode
  choice?: Choice<Transaction>
}

/** A virtual list: renders the visible rows only, and loads pages as the user scrolls. On a phone, the whole page scrolls. */
export function TransactionList(its: ListProps) {
  const isPhone = usePhone()
  return <List key={`${isPhone}`} useRows={isPhone ? useRowsOfPage : useRowsOfBox} {...its} />
}

function List({
  place,
  filter,
  none,
  clear,
  actions,
  choice,
  useRows,
}: ListProps & { useRows: typeof useRowsOfBox | typeof useRowsOfPage }) {
  const query = useTransactions(place, filter)
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query
  // A page may repeat rows of the previous page if transactions arrived in between.
  const names = useNames()
  const symbolOf = useSymbolsOfRelayers()
  const isOfOne = 'relayer_id' in place
  const isFiltered = Object.keys(filter).length > 0
  const rows = useMemo(
    () => [...new Map(query.data?.pages.flatMap(({ data }) => data.map((row) => [row.id, row] as const))).values()],
    [query.data],
  )
  const letters = useMemo(() => Math.max(0, ...rows.map(({ relayer_id }) => relayer_id.length)), [rows])
  const unfinished = rows.filter(({ status, is_canceling }) => !isFinal(status) && !is_canceling)
  const total = query.data?.pages[0]?.pagination.total_items ?? 0
  const scroller = useRef<HTMLDivElement>(null)
  const list = useRows(rows.length, scroller)
  const shown = list.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && last >= rows.length - overscan * 2) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, last, rows.length])

  return (
    <Loaded query={query} lines={8} as="rows">
      {() =>
        rows.length === 0 ? (
          <Nothing
            icon={ArrowLeftRight}
            title={isFiltered ? none.title : 'No transactions yet'}
            action={isFiltered ? <ClearFilters clear={clear} /> : <SendOne relayer_id={isOfOne && place.relayer_id} />}
          >
            {isFiltered ? none.advice : 'What is sent through the API or in the sandbox is listed here at once.'}
          </Nothing>
        ) : (
          <>
            <Matches total={total} of={['transaction', 'transactions']}>
              {choice && !unfinished.every((row) => choice.has(row)) && (
                <button type="button" onClick={() => choice.set(unfinished)}>
                  Choose the {count(unfinished.length)} unfinished
                </button>
              )}
              {actions}
            </Matches>
            <div
              className={`list ${isOfOne ? 'of-one' : ''} ${rows.some(isSlow) ? 'slow' : ''}`}
              style={{ '--letters': letters } as CSSProperties}
              ref={scroller}
            >
              <table aria-label="Transactions" aria-rowcount={total}>
                <Head isOfOne={isOfOne} />
                <tbody style={{ height: list.getTotalSize() }}>
                  {shown.map(({ index, start }) => {
                    const row = rows[index]
                    return (
                      row && (
                        <Row
                          key={row.id}
                          its={row}
                          start={start - list.options.scrollMargin}
                          isOfOne={isOfOne}
                          choice={choice}
                          names={names}
                          symbol={symbolOf(row.relayer_id)}
                        />
                      )
                    )
                  })}
                </tbody>
              </table>
            </div>
          </>
        )
      }
    </Loaded>
  )
}

function Head({ isOfOne }: { isOfOne: boolean }) {
  const names = ['Status', 'Nonce', ...(isOfOne ? [] : ['Relayer']), 'Action', 'Value', 'Note', 'Accepted']
  return (
    <thead>
      <tr>
        <th>
          <span className="hidden">Choose</span>
        </th>
        {names.map((name) => (
          <th key={name} className={name === 'Value' || name === 'Accepted' ? 'number' : undefined}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  )
}

function Row({
  its,
  start,
  isOfOne,
  choice,
  names,
  symbol,
}: {
  its: Transaction
  symbol: string
  start: number
  isOfOne: boolean
  choice: Choice<Transaction> | undefined
  names: Names
}) {
  const note = noteOf(its, symbol)
  // A finger would miss a link inside the row, which is one itself.
  const isPhone = usePhone()
  return (
    <tr style={{ transform: `translateY(${start}px)` }}>
      <td className="pick">{choice && <ChooseRow name={transactionName(its)} row={its} choice={choice} />}</td>
      <td className="state">
        <TransactionState its={its} />
      </td>
      <td className="nonce">{its.nonce ?? '–'}</td>
      {!isOfOne && (
        <td className="relayer" data-nonce={nonceName(its.nonce)}>
          <span>{isPhone ? its.relayer_id : <RelayerLink id={its.relayer_id} />}</span>
        </td>
      )}
      <td className="what">
        <Link to={transactionPath(its)} className="open" title={its.hash ?? 'not signed'}>
          {actionOf(its, names)}
        </Link>
      </td>
      <td className="number">
        <Value its={its} symbol={symbol} names={names} />
      </td>
      <td className="note">{note.text !== '' && <span title={note.whole}>{note.text}</span>}</td>
      <td className="hint">
        <Age of={its.created_at} />
      </td>
    </tr>
  )
}

/** What a transaction does, in a few words. */
function actionOf({ to, call, data }: Transaction, names: Names): string {
  if (to === null) return 'Creates a contract'
  const receiver = receiverOf(to, names)
  if (call) return `${call.function.replace(/\(.*/s, '')} on ${receiver}`
  return data === null || data === '0x' ? `To ${receiver}` : `Call of ${receiver}`
}
