import { Download } from 'lucide-react'
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
  return (
    <Action
      label={label}
      icon={Download}
      effect={<p>Downloads {what}. Amounts are in the smallest unit (wei), times in UTC.</p>}
      run={() => saveCsv(`${name}.csv`, header, pages())}
      told={(rows) =>
        rows === 0
          ? `${name}.csv has a header only: nothing matches.`
          : `${name}.csv is downloaded, with ${count(rows)} ${rows === 1 ? 'row' : 'rows'}.`
      }
    />
  )
}
