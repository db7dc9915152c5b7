/** A cell that a spreadsheet would read as a formula gets an apostrophe, and one with a separator is quoted (RFC 4180). */
const cell = (value: unknown): string => {
  const text = value === null || value === undefined ? '' : String(value)
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export const csvLine = (values: unknown[]): string => `${values.map(cell).join(',')}\r\n`

/**
 * Gives the reader a file. Each page of rows is a blob of its own, which browsers keep outside the page's memory, so it may be long. When a
 * page fails, there is no file. Resolves to the number of rows.
 */
export async function saveCsv(name: string, header: string[], pages: AsyncIterable<unknown[][]>): Promise<number> {
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
