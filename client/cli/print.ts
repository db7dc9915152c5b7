import { inLine, write, writeJson } from './terminal.ts'

type Item = Record<string, unknown>

/** A member of the items, or a text of several. `policies.max_value` is a member of a member. */
export type Column = string | { title: string; text(item: Item): string }

/** Writes results to standard output: JSON, or text for people. Notes go to standard error. */
export function printer(isJson: boolean) {
  const out = (text: string) => (isJson ? writeJson(process.stdout, text) : write(process.stdout, `${text}\n`))
  return {
    isJson,
    /** One result. `brief`: its text; default: all members. */
    one: (item: unknown, brief?: string) => out(isJson ? json(item) : (brief ?? members(item as Item))),
    /** A list, as a table of these columns. */
    list: (items: Item[], columns: Column[]) => out(isJson ? json(items) : table(items, columns)),
    /** One of many results that arrive over time: a line each. */
    line: (item: unknown, brief: string) => out(isJson ? JSON.stringify(item) : brief),
    note: (text: string) => write(process.stderr, `${text}\n`),
  }
}

const json = (value: unknown) => JSON.stringify(value, null, 2)

const shown = (value: unknown): string => {
  if (value === null || value === undefined) return '-'
  return inLine(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

const titleOf = (column: Column) => (typeof column === 'string' ? column.replace(/^.*\./, '') : column.title)

const cellOf = (item: Item, column: Column): string =>
  shown(
    typeof column === 'string'
      ? column.split('.').reduce<unknown>((value, name) => (value as Item | null | undefined)?.[name], item)
      : column.text(item),
  )

function members(item: Item): string {
  const width = Math.max(0, ...Object.keys(item).map((name) => name.length))
  return Object.entries(item)
    .map(([name, value]) => `${name.padEnd(width)}  ${shown(value)}`)
    .join('\n')
}

function table(items: Item[], columns: Column[]): string {
  const titles = columns.map((column) => titleOf(column).toUpperCase())
  const rows = [titles, ...items.map((item) => columns.map((column) => cellOf(item, column)))]
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => (row[index] as string).length)))
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] as number))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
