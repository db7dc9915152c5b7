import { inspect } from 'node:util'
import { type Cell, type Part, parts } from './parts.ts'
import { implementations, type StageName } from './stages.ts'

export type Table = Map<StageName, Map<Part, Cell | Error>>

export const isSound = (cell: Cell | Error): boolean =>
  !(cell instanceof Error) &&
  cell.lost + cell.twice + cell.wrong + cell.failures.length === 0 &&
  cell.mined === cell.accepted

/** A line for a part, as soon as it has ended. */
export function lineOf(name: StageName, part: Part, cell: Cell | Error): string {
  const begin = `${name} ${part}`.padEnd(28)
  if (cell instanceof Error) return `${begin}FAILED: ${inspect(cell)}\n`
  const seconds = `${Math.round(cell.duration_ms / 1_000)} s`
  const failures = cell.failures.map((failure) => `\n  ${failure}`).join('')
  return `${begin}${isSound(cell) ? 'ok' : 'BAD'}  ${figuresOf(cell)}  ${seconds}  ${cell.remarks}${failures}\n`
}

/** A row for each type, a column for each trouble. */
export function tableOf(table: Table): string {
  const shown = parts.filter((part) => [...table.values()].some((cells) => cells.has(part)))
  const rows = [
    ['type', 'key service', ...shown],
    ...[...table].map(([name, cells]) => [
      name,
      implementations[name],
      ...shown.map((part) => {
        const cell = cells.get(part)
        if (!cell) return ''
        return cell instanceof Error ? 'FAILED' : figuresOf(cell)
      }),
    ]),
  ]
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length))) ?? []
  const lines = rows.map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  '))
  const note = 'Transactions mined/accepted, then lost, sent twice, wrong signatures given away: 0 0 0 is wanted.'
  return `${[note, ...lines.map((line) => line.trimEnd())].join('\n')}\n`
}

const figuresOf = ({ accepted, mined, lost, twice, wrong }: Cell) => `${mined}/${accepted} ${lost} ${twice} ${wrong}`
