import { Download } from 'lucide-react'
import { useState } from 'react'
import { saveCsv } from '../data/csv.ts'
import { count } from '../data/format.ts'
import { Action } from './action.tsx'

/** A button that gives the reader the rows as a file. `what` completes the sentence "Downloads ...". */
export function Csv({
  label = 'Download CSV',
  name,
  what,
  header,
  pages,
}: {
  label?: string
  name: string
  what: string
  header: string[]
  pages(): AsyncIterable<unknown[][]>
}) {
  const [rows, setRows] = useState(0)
  return (
    <Action
      label={label}
      icon={Download}
      effect={<p>Downloads {what}. Amounts are in the smallest unit (wei), times in UTC.</p>}
      run={async () => setRows(await saveCsv(`${name}.csv`, header, pages()))}
      done={rows === 0 ? 'There is nothing to download: the file has a header only.' : `Rows: ${count(rows)}.`}
    />
  )
}
