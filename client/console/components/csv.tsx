import { Download } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { count, csvCell } from '../data/format.ts'
import { Action } from './action.tsx'
import { Select } from './fields.tsx'

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
    effect={
      <p>
        Downloads {what}. Amounts are in the smallest unit, whose symbol and decimals have columns of their own; times
        in UTC.
      </p>
    }
    run={() => saveCsv(`${name}.csv`, header, pages())}
    message={(rows) =>
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
        <Select label="Rows" values={names} value={chosen} onChange={({ target }) => choose(target.value)} />
      </Csv>
    )
  )
}

const csvLine = (values: unknown[]): string => `${values.map(csvCell).join(',')}\r\n`

/**
 * Gives the reader a file. Each page of rows is a blob of its own, which browsers keep outside the page's memory, so it may be long. When a
 * page fails, there is no file. Resolves to the number of rows.
 */
async function saveCsv(name: string, header: string[], pages: AsyncIterable<unknown[][]>): Promise<number> {
  const parts = [new Blob([csvLine(header)])]
  let rows = 0
  for await (const page of pages) {
    parts.push(new Blob([page.map(csvLine).join('')]))
    rows += page.length
  }
  const url = URL.createObjectURL(new Blob(parts, { type: 'text/csv;charset=utf-8' }))
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
  return rows
}
