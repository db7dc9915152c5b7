import {
  createPaginatedRowModel,
  createSortedRowModel,
  rowPaginationFeature,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table'
import { ChevronDown, ChevronsUpDown, ChevronUp } from 'lucide-react'
import { type ReactNode, useEffect, useMemo } from 'react'
import { zoneShortly } from '../data/times.ts'
import { type Choice, ChooseRow } from './choice.tsx'
import { Pages } from './pages.tsx'
import { Scroll } from './scroll.tsx'

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
  isNumber?: boolean
  /** It stays on one line. */
  isWhole?: boolean
  /** Times, whose zone is in the heading. */
  isTime?: boolean
  /** On a phone, it stands beside the name of the row, without its heading. */
  isBeside?: boolean
  /** On a phone, it stands without its heading. */
  isPlain?: boolean
  /** On a phone, it is left out. */
  isAbsent?: boolean
  /** In a narrow window too. */
  isSpare?: boolean
}

/** Amounts of different units have no order: rows are sorted by the unit, and by the amount in it. */
type Ranked = readonly [unit: string, amount: number]

interface TableProps<Row> {
  /** What it lists, for the pages below it and for screen readers. */
  of: string
  columns: Column<Row>[]
  rows: Row[]
  idOf(row: Row): string
  /** Rows that can be chosen, for actions on several. */
  choice?: Choice<Row>
  per_page?: number
  /** The heading that the rows are sorted by at first. Absent: they are shown as given. */
  sorted?: string
  /** The service has further rows, so the ones here are not sorted. */
  isPart?: boolean
  /** On a phone, a row is two lines. */
  isShort?: boolean
}

/** A table that is sorted by its headings, page by page; on a phone, each row is a card of named values. The first column names the row. */
export function Table<Row>({
  of,
  columns,
  rows,
  idOf,
  choice,
  per_page = 25,
  sorted: first,
  isPart = false,
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
      sorting: columns.flatMap(({ name }, index) => (name === first ? [{ id: `${index}`, desc: false }] : [])),
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
                    aria-label="Choose all of this page"
                    checked={shown.every((row) => choice.has(row))}
                    onChange={({ target }) => choice.set(target.checked ? shown : [])}
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
          <tbody>
            {shown.map((row) => (
              <tr key={idOf(row)}>
                {choice && (
                  <td className="pick">
                    <ChooseRow name={idOf(row)} row={row} choice={choice} />
                  </td>
                )}
                {columns.map((column, index) => (
                  <Cell key={column.name} column={column} isFirst={index === 0}>
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
          last={last}
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

function Heading<Row>({
  column,
  sort,
  direction,
}: {
  column: Column<Row>
  sort: (() => void) | undefined
  direction: boolean | undefined
}) {
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
