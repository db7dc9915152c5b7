import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, normalize } from 'node:path'

// `npm run structure [-- FOLDER]`: the size and the shape of the server in this checkout, or in another one: lines and files of each room,
// small files, members that are handed over instead of imported, and imports that go up.

const floors: string[][] = createRequire(import.meta.url)('./floors.cjs')
const root = join(process.argv[2] ?? '.', 'server')
const small = 40

const files = globSync('**/*.ts', { cwd: root }).map((name) => {
  const text = readFileSync(join(root, name), 'utf8')
  return {
    name,
    room: name.includes('/') ? (name.split('/')[0] as string) : 'main',
    text,
    lines: text.split('\n').length - 1,
  }
})
const floorOf = (room: string) => floors.findIndex((floor) => floor.includes(room))

/** The rooms that a file imports from. */
const importedBy = ({ name, text }: { name: string; text: string }): string[] =>
  [...text.matchAll(/^(?:import|export|\}) .*from '(\.[^']+)'$/gm)]
    .map(([, path = '']) => normalize(join(dirname(name), path)))
    .filter((path) => !path.startsWith('..') && path.includes('/'))
    .map((path) => path.split('/')[0] as string)

/** The members of interfaces for what is handed over (`...Dependencies`). */
function injectedIn(text: string): number {
  let count = 0
  for (const [, body = ''] of text.matchAll(/^(?:export )?interface \w*Dependencies\b[^{]*\{\n(.*?)^\}/gms)) {
    count += body.match(/^ {2}\w+[?(:<]/gm)?.length ?? 0
  }
  return count
}

const table = [...new Set(files.map(({ room }) => room))]
  .sort((a, b) => floorOf(a) - floorOf(b) || a.localeCompare(b))
  .map((room) => {
    const its = files.filter((file) => file.room === room)
    const up = its.flatMap((file) =>
      importedBy(file).filter((other) => other !== room && floorOf(room) >= 0 && floorOf(other) <= floorOf(room)),
    )
    return {
      room,
      files: its.length,
      lines: its.reduce((sum, { lines }) => sum + lines, 0),
      [`under ${small} lines`]: its.filter(({ lines }) => lines < small).length,
      injected: its.reduce((sum, { text }) => sum + injectedIn(text), 0),
      'imports up': up.length,
    }
  })
const total = Object.fromEntries(
  Object.keys(table[0] ?? {}).map((column) => [
    column,
    column === 'room' ? 'all' : table.reduce((sum, row) => sum + Number(row[column as keyof typeof row]), 0),
  ]),
)
const columns = Object.keys(total)
const lineOf = (row: Record<string, unknown>) =>
  columns
    .map((column) => (column === 'room' ? `${row[column]}`.padEnd(12) : `${row[column]}`.padStart(column.length + 2)))
    .join('')
const heading = Object.fromEntries(columns.map((column) => [column, column]))
process.stdout.write(`${[heading, ...table, total].map(lineOf).join('\n')}\n`)
