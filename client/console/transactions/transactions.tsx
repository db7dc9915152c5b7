import { useVirtualizer, useWindowVirtualizer } from '@tanstack/react-virtual'
import { ArrowLeftRight } from 'lucide-react'
import { type ReactNode, type RefObject, useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import { getAddress } from 'viem'
import { Link, useLocation } from 'wouter'
import type { Transaction, TransactionStatus } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Csv } from '../components/csv.tsx'
import { ClearFilters, EmptyState, Loaded, SendOne } from '../components/feedback.tsx'
import { Filters, Matches, PeriodFields, periodIn, SearchField, Segments } from '../components/filters.tsx'
import { Heading } from '../components/page.tsx'
import { type Choice, ChooseRow, useChoice } from '../components/table.tsx'
import { Age, otherName, ownName, TransactionState, transactionName } from '../components/values.tsx'
import { count, exactAmount, short, shortCount, wide } from '../data/format.ts'
import { decoded, type ListPage, paths, type TransactionGroup } from '../data/paths.ts'
import { type AddressName, useAddressNames, useRelayers, useStatus, useSymbolsOfRelayers } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { isSlow } from '../data/statuses.ts'
import { briefReason, hasReason } from './brief-reason.ts'
import { ChangeChosen } from './change-chosen.tsx'
import { allTransactions, csvHeader, type Place, type UnitOf, useTransactions } from './read-transactions.ts'
import { amountPlace, tokenAmount, useToken } from './tokens.ts'
import {
  type Filter,
  filterOf,
  maxFound,
  type NothingFound,
  nothingFound,
  periodOf,
  withPeriod,
} from './transaction-filter.ts'

/** The transactions of all relayers that the API key may see. */
export const TransactionsPage = (filters: ListPage) => (
  <>
    <Heading name="Transactions" />
    <FilteredTransactions place={{ all: true }} here={paths.transactions} {...filters} />
  </>
)

const groups: Record<TransactionGroup, TransactionStatus[]> = {
  all: [],
  unfinished: ['pending', 'sent', 'submitted', 'mined'],
  confirmed: ['confirmed'],
  failed: ['failed'],
  withdrawn: ['canceled', 'expired'],
}
/** Of the currency of every EVM chain. */
const coinDecimals = 18
const groupNames = Object.keys(groups) as TransactionGroup[]
const changeable: ReadonlySet<TransactionStatus> = new Set(['pending', 'sent', 'submitted'])
const isChangeable = ({ status, is_canceling }: Transaction) => changeable.has(status) && !is_canceling

interface FilteredTransactionsProps {
  place: Place
  here: string
  group?: string | undefined
  find?: string | undefined
}

/**
 * The list with its filters, which are in the page's address, so that it can be given to others. `here`: the address without them. A nonce is
 * one of a relayer.
 */
export function FilteredTransactions({ place, here, group: named = 'all', find = '' }: FilteredTransactionsProps) {
  const { client, may } = useSession()
  const [, go] = useLocation()
  const typed = decoded(find)
  const { period, rest } = periodOf(typed)
  const choice = useChoice(`${named} ${typed}`)
  const symbolOf = useSymbolsOfRelayers()
  const relayers = useRelayers().data
  const unitOf: UnitOf = (relayerId) => ({
    network: relayers?.find(({ id }) => id === relayerId)?.network,
    symbol: symbolOf(relayerId),
    decimals: coinDecimals,
  })
  const group = groupNames.find((one) => one === named) ?? 'all'
  const hasNonces = 'relayer_id' in place
  const show = (wanted: TransactionGroup, text: string) => go(paths.group(here, wanted, text), { replace: true })
  const filter: Filter = {
    ...(group !== 'all' && { status: groups[group] }),
    ...filterOf(typed.trim(), hasNonces),
  }
  const { data } = useTransactions(place, filter)
  const found = data?.pages[0]?.pagination.total_items
  return (
    <>
      <Filters apply={(form) => show(group, withPeriod(rest, periodIn(form)))}>
        <Segments label="Status" values={groupNames} value={group} choose={(one) => show(one, typed)} />
        <SearchField
          kinds={`hash, receiver, nonce, reference, metadata${hasNonces ? '' : ', relayer'} or ID`}
          hint="hash, receiver, nonce or reference"
          value={rest}
          change={(text) => show(group, withPeriod(text, period))}
        />
        <PeriodFields period={period} />
      </Filters>
      {filter.search !== undefined && found === maxFound && (
        <p className="hint">
          Only the newest {count(maxFound)} matches are listed. Type more, or a whole address, hash or “reference:…”.
        </p>
      )}
      {may('send') && choice.size > 0 && (
        <Chosen
          choice={choice}
          rows={data?.pages.flatMap((page) => page.data).filter(({ id }) => choice.has(id)) ?? []}
        />
      )}
      <TransactionList
        place={place}
        filter={filter}
        none={nothingFound(group, filter)}
        clear={() => show('all', '')}
        actions={
          <>
            {may('send') && hasNonces && <CancelPending relayer_id={place.relayer_id} />}
            <Csv
              name="transactions"
              what="every transaction that matches the filter"
              header={csvHeader}
              pages={() => allTransactions(client, place, filter, unitOf)}
            />
          </>
        }
        {...(may('send') && { choice })}
      />
    </>
  )
}

function CancelPending({ relayer_id }: { relayer_id: string }) {
  const { data } = useStatus(relayer_id)
  if (!data?.pending_transactions_count) return null
  return (
    <Action
      label="Cancel all unfinished"
      title={`Cancel all unfinished of ${relayer_id}`}
      message={`The unfinished transactions of ${relayer_id} are being canceled.`}
      dismiss="Keep them"
      tone="danger"
      effect={`Cancels every transaction of ${relayer_id} that is not mined, from the highest nonce down. Signed ones are replaced by transfers of 0, which cost fees.`}
      run={(client) => client.transactions.cancelPending(relayer_id)}
    />
  )
}

/** What can be done with the selected ones. From the highest nonce down, since what is canceled last needs no transfer. */
function Chosen({ choice, rows }: { choice: Choice; rows: Transaction[] }) {
  const changed = [...new Map(rows.filter(isChangeable).map((row) => [row.id, row])).values()]
  changed.sort((a, b) => (b.nonce ?? 0) - (a.nonce ?? 0))
  return (
    <section className="bar chosen" aria-label="Selected transactions">
      <span>
        {count(choice.size)} selected
        {changed.length < choice.size && `, ${count(changed.length)} still to change`}
      </span>
      <ChangeChosen operation="speedUpTransaction" choice={choice} changeable={changed} />
      <ChangeChosen operation="cancelTransaction" choice={choice} changeable={changed} />
      <button type="button" onClick={() => choice.set([])}>
        Clear selection
      </button>
    </section>
  )
}

const rowPx = 48
const phoneRowPx = 64
/** Of a row on a phone with its reason. */
const tallRowPx = 84
const overscan = 8

type Scroller = RefObject<HTMLDivElement | null>

/** `isTall`: of each row, whether it has a reason. */
const useRowsOfBox = ({ length: count }: boolean[], scroller: Scroller) =>
  useVirtualizer({ count, overscan, estimateSize: () => rowPx, getScrollElement: () => scroller.current })

function useRowsOfPage(isTall: boolean[], scroller: Scroller) {
  const list = useWindowVirtualizer({
    count: isTall.length,
    overscan,
    estimateSize: (index) => (isTall[index] ? tallRowPx : phoneRowPx),
    scrollMargin: scroller.current?.offsetTop ?? 0,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: a row may get its reason later
  useEffect(() => list.measure(), [list, isTall.join()])
  return list
}

interface ListProps {
  place: Place
  filter: Filter
  /** What is said where nothing matches. */
  none: NothingFound
  /** Shows all again. */
  clear(): void
  /** Buttons for the whole list. */
  actions: ReactNode
  choice?: Choice
}

/** A virtual list: renders the visible rows only, and loads pages as the user scrolls. On a phone, the whole page scrolls. */
function TransactionList(its: ListProps) {
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
  const names = useAddressNames()
  const symbolOf = useSymbolsOfRelayers()
  const relayerId = 'relayer_id' in place && place.relayer_id
  const isFiltered = Object.keys(filter).length > 0
  const rows = useMemo(
    () => [...new Map(query.data?.pages.flatMap(({ data }) => data.map((row) => [row.id, row] as const))).values()],
    [query.data],
  )
  const changed = rows.filter(isChangeable)
  const total = query.data?.pages[0]?.pagination.total_items ?? 0
  const scroller = useRef<HTMLDivElement>(null)
  const list = useRows(
    rows.map((row) => hasReason(row)),
    scroller,
  )
  const shown = list.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && last >= rows.length - overscan * 2) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, last, rows.length])

  return (
    <Loaded query={query} lines={8} as="rows">
      {() =>
        rows.length === 0 ? (
          <EmptyState
            icon={ArrowLeftRight}
            title={isFiltered ? none.title : 'No transactions yet'}
            action={isFiltered ? <ClearFilters clear={clear} /> : <SendOne relayer_id={relayerId} />}
          >
            {isFiltered ? none.advice : 'Transactions appear here as soon as the API or the sandbox accepts them.'}
          </EmptyState>
        ) : (
          <>
            <Matches total={total} of={['transaction', 'transactions']}>
              {choice && !changed.every(({ id }) => choice.has(id)) && (
                <button
                  type="button"
                  title="Those in no block: they can be sped up or canceled."
                  onClick={() => choice.set(changed.map(({ id }) => id))}
                >
                  Select {count(changed.length)} not mined
                </button>
              )}
              {actions}
            </Matches>
            <div className={rows.some(isSlow) ? 'list slow' : 'list'} ref={scroller}>
              <table aria-label="Transactions" aria-rowcount={total}>
                <Head />
                <tbody style={{ height: list.getTotalSize() }}>
                  {shown.map(({ index, start }) => {
                    const row = rows[index]
                    return (
                      row && (
                        <Row
                          key={row.id}
                          transaction={row}
                          start={start - list.options.scrollMargin}
                          choice={choice}
                          names={names}
                          isOwn={relayerId !== false}
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

const Head = () => (
  <thead>
    <tr>
      <th>
        <span className="hidden">Select</span>
      </th>
      {['Transaction', 'Status', 'Action', 'Value', 'Accepted'].map((name) => (
        <th key={name} className={name === 'Value' || name === 'Accepted' ? 'number' : undefined}>
          {name}
        </th>
      ))}
    </tr>
  </thead>
)

interface RowProps {
  transaction: Transaction
  symbol: string
  start: number
  choice: Choice | undefined
  names: Names
  /** On the page of its relayer. */
  isOwn: boolean
}

function Row({ transaction, start, choice, names, symbol, isOwn }: RowProps) {
  const reason = briefReason(transaction, symbol)
  const name = isOwn ? ownName(transaction) : transactionName(transaction)
  const place =
    isOwn && transaction.reference !== null ? ownName({ ...transaction, reference: null }) : otherName(transaction)
  const other = name === place ? undefined : place
  return (
    <tr style={{ transform: `translateY(${start}px)` }}>
      <td className="pick">
        {choice && isChangeable(transaction) && (
          <ChooseRow name={[name, other].filter(Boolean).join(', ')} id={transaction.id} choice={choice} />
        )}
      </td>
      <td className="what">
        <Link to={paths.transaction(transaction)} className="open" title={transaction.hash ?? 'not signed'}>
          {name}
        </Link>
        {other !== undefined && <div className="place">{other}</div>}
      </td>
      <td className="state">
        <TransactionState transaction={transaction} />
        {reason && (
          <div className="reason" title={reason.whole}>
            {reason.text}
          </div>
        )}
      </td>
      <td className="action">{actionOf(transaction, names)}</td>
      <td className="number">
        <Value transaction={transaction} symbol={symbol} names={names} />
      </td>
      <td className="hint">
        <Age of={transaction.created_at} />
      </td>
    </tr>
  )
}

/** What a transaction does, in a few words. */
function actionOf({ to, call, data }: Transaction, names: Names): ReactNode {
  if (to === null) return 'Creates a contract'
  const receiver = names(to)?.name ?? <code>{short(getAddress(to))}</code>
  const what = call ? `${call.function.replace(/\(.*/s, '')} on` : data === null || data === '0x' ? 'To' : 'Call of'
  return (
    <>
      {what} {receiver}
    </>
  )
}

/** After the point, in the column of values. */
const places = 6

type Names = (address: string) => AddressName | undefined

/** What it sends, in coins or in the token that it calls. */
function Value({ transaction, symbol, names }: { transaction: Transaction; symbol: string; names: Names }) {
  const units = transaction.call?.args[amountPlace(transaction.call)]
  if (transaction.value !== '0')
    return <span title={exactAmount(transaction.value, symbol)}>{wide(transaction.value, symbol, places)}</span>
  if (transaction.to === null || typeof units !== 'string') return '–'
  return (
    <TokenValue
      units={units}
      relayer_id={transaction.relayer_id}
      token={transaction.to}
      name={receiverOf(transaction.to, names)}
    />
  )
}

interface TokenValueProps {
  units: string
  relayer_id: string
  token: string
  name: string
}

function TokenValue({ units, relayer_id, token, name }: TokenValueProps) {
  const its = useToken(relayer_id, token)
  const exact = tokenAmount(units, its, name)
  return (
    <span title={exact}>
      {its ? wide(units, its.symbol, places, its.decimals) : `${shortCount(BigInt(units))} units of ${name}`}
    </span>
  )
}

const receiverOf = (to: string, names: Names) => names(to)?.name ?? short(getAddress(to))

/** Whether the page is as narrow as a phone; the same width as in style.css. */
const phone = matchMedia('(width < 760px)')

function subscribe(read: () => void): () => void {
  phone.addEventListener('change', read)
  return () => phone.removeEventListener('change', read)
}

const usePhone = (): boolean => useSyncExternalStore(subscribe, () => phone.matches)
