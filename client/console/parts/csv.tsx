import { Download } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { saveCsv } from '../data/csv.ts'
import { count } from '../data/format.ts'
import { Action } from './action.tsx'
import { Options } from './options.tsx'

export interface File {
  name: string
  /** Completes the sentence "Downloads ...". */
  what: string
  header: string[]
  pages(): AsyncIterable<unknown[][]>
}

/** A button that gives the reader the rows as a file. `children`: what the file depends on. */
export const Csv = ({ name, what, header, pages, children }: File & { children?: ReactNode }) => (
  <Action
    label="Download CSV"
    icon={Download}
    effect={<p>Downloads {what}. Amounts are in the smallest unit (wei), times in UTC.</p>}
    run={() => saveCsv(`${name}.csv`, header, pages())}
    told={(rows) =>
      rows === 0
        ? `${name}.csv has a header only: nothing matches.`
        : `${name}.csv is downloaded, with ${count(rows)} ${rows === 1 ? 'row' : 'rows'}.`
    }
  >
    {children}
  </Action>
)

/** The same of the file that the reader chooses. */
export function CsvOfOne({ files }: { files: Record<string, File> }) {
  const names = Object.keys(files)
  const [chosen, choose] = useState(names[0] ?? '')
  const file = files[chosen]
  return (
    file && (
      <Csv {...file}>
        <label>
          Rows
          <select value={chosen} onChange={({ target }) => choose(target.value)}>
            <Options of={names} />
          </select>
        </label>
      </Csv>
    )
  )
}
