import { SearchX } from 'lucide-react'
import { type ComponentProps, type ReactNode, useState } from 'react'
import { Filters, SearchField } from './filters.tsx'
import { ClearFilters, Nothing } from './nothing.tsx'
import { Table } from './table.tsx'

/** Fewer rows are read faster than they are searched. */
const min_rows = 10

/**
 * A table with a field that narrows it to the rows with a text. `kinds`: what of a row is searched, in words. `before`: what stands before
 * the field.
 */
export function FoundTable<Row>({
  textsOf,
  kinds,
  rows,
  before,
  ...its
}: ComponentProps<typeof Table<Row>> & {
  textsOf(row: Row): string[]
  kinds: string
  before?: ReactNode
}) {
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  const found = rows.filter((row) => textsOf(row).some((one) => one.toLowerCase().includes(wanted)))
  return (
    <>
      {(before || rows.length > min_rows) && (
        <Filters>
          {before}
          {rows.length > min_rows && <SearchField kinds={kinds} value={text} change={setText} />}
        </Filters>
      )}
      {found.length === 0 ? (
        <Nothing
          icon={SearchX}
          title={`None of the ${its.of} has “${text.trim()}”`}
          action={<ClearFilters clear={() => setText('')} />}
        >
          Searched: {kinds}.
        </Nothing>
      ) : (
        <Table {...its} rows={found} />
      )}
    </>
  )
}
