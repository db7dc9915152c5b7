import {
  createPaginatedRowModel,
  createSortedRowModel,
  rowPaginationFeature,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table'
import { ChevronDown, ChevronsUpDown, ChevronUp, SearchX } from 'lucide-react'
import { type ComponentProps, type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { count } from '../data/format.ts'
import { zoneShortly } from '../data/times.ts'
import { ClearFilters, EmptyState } from './feedback.tsx'
import { Filters, SearchField } from './filters.tsx'
import { Badge, byAge, NetworkLink, Old, RelayerLink, RowTime } from './values.tsx'

const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  rowPaginationFeature,
  paginatedRowModel: createPaginatedRowModel(),
})

export interface Column<Row> {
  /** Its heading. The last column may have none: it has the buttons. */
  name: string
  cell(row: Row): ReactNode
  /** What it is sorted by. Absent: it cannot be sorted. */
  by?: (row: Row) => string | number | Ranked
  /** What it shows of several rows together. */
  sum?: (rows: Row[]) => ReactNode
  isNumber?: boolean
  /** It stays on one line. */
  isWhole?: boolean
  /** Times, whose zone is in the heading. */
  isTime?: boolean
  /** On a phone, it names the row, in the place of the first column. */
  isName?: boolean
  /** On a phone, it stands beside the name of the row, without its heading. */
  isBeside?: boolean
  /** On a phone, it stands without its heading. */
  isPlain?: boolean
  /** On a phone, it is left out. */
  isAbsent?: boolean
  /** In a narrow window too. */
  isSpare?: boolean
}

/** A column that shows a value as it is, and is sorted by it. */
export const column = <Row,>(
  name: string,
  value: (row: Row) => string | number,
  how: Partial<Column<Row>> = {},
): Column<Row> => ({ name, by: value, cell: value, ...how })

/** A number with groups of digits, or as `show` says. */
export const countColumn = <Row,>(
  name: string,
  value: (row: Row) => number | null,
  show: (value: number, row: Row) => ReactNode = count,
): Column<Row> => ({
  name,
  isNumber: true,
  by: (row) => value(row) ?? -1,
  cell: (row) => {
    const its = value(row)
    return its === null ? '–' : show(its, row)
  },
})

/** How long ago something was, the youngest first. */
export const ageColumn = <Row,>(name: string, at: (row: Row) => string | null): Column<Row> => ({
  name,
  isNumber: true,
  by: (row) => byAge(at(row)),
  cell: (row) => <Old of={at(row)} />,
})

/** When something was; the heading has the zone. */
export const timeColumn = <Row,>(
  name: string,
  at: (row: Row) => string | null,
  how: Partial<Column<Row>> = {},
): Column<Row> => ({ name, isTime: true, cell: (row) => <RowTime at={at(row)} />, ...how })

/** The relayer that a row is of. */
export const relayerColumn = <Row,>(
  name: string,
  idOf: (row: Row) => string,
  how: Partial<Column<Row>> = {},
): Column<Row> => ({
  name,
  by: idOf,
  cell: (row) => <RelayerLink id={idOf(row)} />,
  ...how,
})

/** The network that a row is on. */
export const networkColumn = <Row extends { network: string }>(how: Partial<Column<Row>> = {}): Column<Row> => ({
  name: 'Network',
  by: ({ network }) => network,
  cell: ({ network }) => <NetworkLink name={network} />,
  ...how,
})

/** A status in its color. */
export const stateColumn = <Row,>(stateOf: (row: Row) => string): Column<Row> => ({
  name: 'Status',
  isBeside: true,
  by: stateOf,
  cell: (row) => <Badge state={stateOf(row)} />,
})

/** Amounts of different units have no order: rows are sorted by the unit, and by the amount in it. */
type Ranked = readonly [unit: string, amount: number]

interface TableProps<Row> {
  /** What it lists, for the pages below it and for screen readers. */
  of: string
  columns: Column<Row>[]
  rows: Row[]
  idOf(row: Row): string
  /** Rows that can be chosen, for actions on several. */
  choice?: Choice
  per_page?: number
  /** The heading that the rows are sorted by at first. Absent: they are shown as given. */
  sorted?: string
  /** The greatest first. */
  isDescending?: boolean
  /** The service has further rows, so the ones here are not sorted. */
  isPart?: boolean
  /** Rows above those of every page, each the sum of some of them all. */
  sums?: { name: string; of: Row[] }[]
  /** On a phone, a row is two lines. */
  isShort?: boolean
  /** In the place of a table without rows. */
  none?: ReactNode
}

/** A table that is sorted by its headings, page by page; on a phone, each row is a card of named values. The first column names the row. */
export const Table = <Row,>({ none, ...table }: TableProps<Row>) =>
  none !== undefined && table.rows.length === 0 ? none : <Rows {...table} />

function Rows<Row>({
  of,
  columns,
  rows,
  idOf,
  choice,
  per_page = 25,
  sorted: first,
  isDescending = false,
  isPart = false,
  sums = [],
  isShort = false,
}: TableProps<Row>) {
  const names = columns.map(({ name, by }) => `${name}${by ? '' : ' -'}`).join('\n')
  // biome-ignore lint/correctness/useExhaustiveDependencies: columns of one name are sorted by the same each time
  const sorted = useMemo(
    () =>
      columns.map(({ name, by }, index) => ({
        id: `${index}`,
        header: name,
        accessorFn: by ?? (() => 0),
        enableSorting: by !== undefined && !isPart,
        sortDescFirst: false,
        sortFn: (a: Sorted, b: Sorted, id: string) => compare(a.getValue(id), b.getValue(id)),
      })),
    [names, isPart],
  )
  const table = useTable({
    features,
    columns: sorted as never[],
    data: rows as never[],
    getRowId: idOf as never,
    enableMultiSort: false,
    autoResetPageIndex: false,
    initialState: {
      sorting: columns.flatMap(({ name }, index) => (name === first ? [{ id: `${index}`, desc: isDescending }] : [])),
      pagination: { pageIndex: 0, pageSize: isPart ? Number.MAX_SAFE_INTEGER : per_page },
    },
  })
  const { pageIndex } = table.state.pagination
  const last = Math.max(table.getPageCount(), 1)
  // The last page may have lost its rows.
  useEffect(() => {
    if (pageIndex >= last) table.setPageIndex(last - 1)
  }, [pageIndex, last, table])
  const shown = table.getRowModel().rows.map(({ original }) => original as Row)
  const directions = table.state.sorting
  const naming = columns.find(({ isName }) => isName) ?? columns[0]
  /** The first columns, which have no sum. */
  const unsummed = columns.findIndex(({ sum }) => sum !== undefined)
  return (
    <>
      <Scroll>
        <table className={isShort ? 'stacked short' : 'stacked'} aria-label={of}>
          <thead>
            <tr>
              {choice && (
                <th>
                  <input
                    type="checkbox"
                    aria-label="Select all on this page"
                    checked={shown.every((row) => choice.has(idOf(row)))}
                    onChange={({ target }) => choice.set(target.checked ? shown.map(idOf) : [])}
                  />
                </th>
              )}
              {columns.map((column, index) => (
                <Heading
                  key={column.name}
                  column={column}
                  sort={
                    column.by === undefined || isPart
                      ? undefined
                      : () => table.getColumn(`${index}`)?.toggleSorting(undefined, false)
                  }
                  direction={directions.find(({ id }) => id === `${index}`)?.desc}
                />
              ))}
            </tr>
          </thead>
          {sums.length > 0 && (
            <tbody className="sums">
              {sums.map((sum) => (
                <tr key={sum.name}>
                  <td className="first" colSpan={unsummed}>
                    {sum.name}
                  </td>
                  {columns.slice(unsummed).map((column) => (
                    <Cell key={column.name} column={column} isFirst={false}>
                      {column.sum?.(sum.of)}
                    </Cell>
                  ))}
                </tr>
              ))}
            </tbody>
          )}
          <tbody>
            {shown.map((row) => (
              <tr key={idOf(row)}>
                {choice && (
                  <td className="pick">
                    <ChooseRow name={idOf(row)} id={idOf(row)} choice={choice} />
                  </td>
                )}
                {columns.map((column) => (
                  <Cell key={column.name} column={column} isFirst={column === naming}>
                    {column.cell(row)}
                  </Cell>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {!isPart && (
        <Pages
          of={of}
          page={pageIndex + 1}
          per_page={per_page}
          total={rows.length}
          go={(page) => table.setPageIndex(page - 1)}
        />
      )}
    </>
  )
}

interface Sorted {
  getValue(id: string): unknown
}

const order = new Intl.Collator('en', { numeric: true })
function compare(a: unknown, b: unknown): number {
  if (a === b) return 0
  if (Array.isArray(a) && Array.isArray(b)) return compare(a[0], b[0]) || compare(a[1], b[1])
  return typeof a === 'number' && typeof b === 'number' ? a - b : order.compare(String(a), String(b))
}

interface HeadingProps<Row> {
  column: Column<Row>
  sort: (() => void) | undefined
  direction: boolean | undefined
}

function Heading<Row>({ column, sort, direction }: HeadingProps<Row>) {
  const className = [column.isNumber && 'number', column.isSpare && 'spare'].filter(Boolean).join(' ') || undefined
  const name = titleOf(column)
  if (name === '')
    return (
      <th>
        <span className="hidden">Actions</span>
      </th>
    )
  if (!sort) return <th className={className}>{name}</th>
  const Mark = direction === undefined ? ChevronsUpDown : direction ? ChevronDown : ChevronUp
  return (
    <th className={className} aria-sort={direction === undefined ? 'none' : direction ? 'descending' : 'ascending'}>
      <button type="button" onClick={sort}>
        {name} <Mark className="icon" aria-hidden />
      </button>
    </th>
  )
}

const titleOf = ({ name, isTime }: Pick<Column<never>, 'name' | 'isTime'>) =>
  isTime ? `${name} (${zoneShortly()})` : name

function Cell<Row>({
  column: { name, isNumber, isBeside, isWhole, isTime, isPlain, isAbsent, isSpare },
  isFirst,
  children,
}: {
  column: Column<Row>
  isFirst: boolean
  children: ReactNode
}) {
  const kinds = [
    isNumber && 'number',
    (isWhole || isTime) && 'whole',
    isPlain && 'bare',
    isAbsent && 'absent',
    isSpare && 'spare',
    isFirst && 'first',
    (name === '' || isBeside) && 'beside',
    (children === null || children === undefined || children === false || children === '') && 'none',
  ].filter(Boolean)
  return (
    <td className={kinds.length === 0 ? undefined : kinds.join(' ')} data-label={name || undefined}>
      {children}
    </td>
  )
}

/**
 * The box of a table, which scrolls sideways while the table is wider. While it fits, the page scrolls only, and the head of the table stays in
 * sight: a box that scrolls would hold it.
 */
function Scroll({ children }: { children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null)
  const [fits, setFits] = useState(false)
  useEffect(() => {
    const its = box.current
    if (!its) return
    const observer = new ResizeObserver(() => setFits(its.scrollWidth <= its.clientWidth))
    for (const one of [its, ...its.children]) observer.observe(one)
    return () => observer.disconnect()
  }, [])
  return (
    <div className={fits ? 'scroll fits' : 'scroll'} ref={box}>
      {children}
    </div>
  )
}

/** The page of a list that is shown. Another filter begins with its first one. */
export function usePage(filter: string | undefined): [number, (page: number) => void] {
  const [shown, show] = useState({ filter, page: 1 })
  return [shown.filter === filter ? shown.page : 1, (page) => show({ filter, page })]
}

interface PagesProps {
  of: string
  page: number
  per_page: number
  total: number
  go(page: number): void
}

/** Leads to the other pages of a list. `of`: what it lists. */
export function Pages({ of, page, per_page, total, go }: PagesProps) {
  const last = Math.ceil(total / per_page)
  if (last < 2) return null
  return (
    <nav className="bar" aria-label={`Pages of ${of}`}>
      <button type="button" disabled={page === 1} onClick={() => go(page - 1)}>
        Previous
      </button>
      <span className="hint">
        Page {page} of {last}, {count(total)} {of}
      </span>
      <button type="button" disabled={page === last} onClick={() => go(page + 1)}>
        Next
      </button>
    </nav>
  )
}

/** What is chosen in a list, by ID: an action reads the rows as they are then. Another `filter` ends the choice, which may be out of sight. */
export function useChoice(filter: string) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [before, setBefore] = useState(filter)
  if (before !== filter) {
    setBefore(filter)
    setChosen(new Set())
  }
  return {
    size: chosen.size,
    has: (id: string) => chosen.has(id),
    toggle(id: string) {
      const next = new Set(chosen)
      if (!next.delete(id)) next.add(id)
      setChosen(next)
    },
    set: (ids: string[]) => setChosen(new Set(ids)),
  }
}

export type Choice = ReturnType<typeof useChoice>

/** Chooses a row. The label is what a finger touches. */
export const ChooseRow = ({ name, id, choice }: { name: string; id: string; choice: Choice }) => (
  <label>
    <input type="checkbox" aria-label={`Select ${name}`} checked={choice.has(id)} onChange={() => choice.toggle(id)} />
  </label>
)

/** Fewer rows are read faster than they are searched. */
const minRows = 10

type SearchedTableProps<Row> = ComponentProps<typeof Table<Row>> & {
  textsOf(row: Row): string[]
  kinds: string
  before?: ReactNode
}

/**
 * A table with a field that narrows it to the rows with a text. `kinds`: what of a row is searched, in words. `before`: what stands before
 * the field.
 */
export function SearchedTable<Row>({ textsOf, kinds, rows, before, ...its }: SearchedTableProps<Row>) {
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  const found = rows.filter((row) => textsOf(row).some((one) => one.toLowerCase().includes(wanted)))
  return (
    <>
      {(before || rows.length > minRows) && (
        <Filters>
          {before}
          {rows.length > minRows && <SearchField kinds={kinds} value={text} change={setText} />}
        </Filters>
      )}
      {found.length === 0 ? (
        <EmptyState
          icon={SearchX}
          title={`None of the ${its.of} has “${text.trim()}”`}
          action={<ClearFilters clear={() => setText('')} />}
        >
          Searched: {kinds}.
        </EmptyState>
      ) : (
        <Table {...its} rows={found} {...(text.trim() !== '' && { sums: [] })} />
      )}
    </>
  )
}
