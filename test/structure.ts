import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'

// `npm run structure [-- FOLDER]`: the size and the shape of the server in this checkout, or in another one.

const floors: string[][] = createRequire(import.meta.url)('./floors.cjs')
const root = join(process.argv[2] ?? '.', 'server')
const fewLines = 40
const manyParameters = 5
const longFunction = 70

const files = globSync('**/*.ts', { cwd: root }).map((name) => {
  const text = readFileSync(join(root, name), 'utf8')
  const room = name.includes('/') ? (name.split('/')[0] as string) : 'main'
  return { name, room, text, lines: text.split('\n').length - 1, ...shapesOf(name, text) }
})
const floorOf = (room: string) => floors.findIndex((floor) => floor.includes(room))

/** The rooms that a file imports from. */
const importedBy = ({ name, text }: { name: string; text: string }): string[] =>
  [...text.matchAll(/^(?:import|export|\}) .*from '(\.[^']+)'$/gm)]
    .map(([, path = '']) => normalize(join(dirname(name), path)))
    .filter((path) => !path.startsWith('..') && path.includes('/'))
    .map((path) => path.split('/')[0] as string)

/** Counts factories (exported functions `create...`), functions with many parameters, and long functions inside another one. */
function shapesOf(name: string, text: string) {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true)
  const counts = { factories: 0, parameters: 0, nested: 0 }
  const isExported = (node: ts.Node) =>
    ts.canHaveModifiers(node) && !!ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
  /** A verb that returns a promise (`createRelayer` of the store) makes no functions. */
  const isFactory = (declared: string | undefined, its: ts.Node | undefined) =>
    /^create[A-Z]/.test(declared ?? '') &&
    !(its && ts.isFunctionLike(its) && /^Promise</.test(its.type?.getText() ?? ''))
  const linesOf = (node: ts.Node) => text.slice(node.getStart(), node.end).split('\n').length
  const visit = (node: ts.Node, depth: number): void => {
    if (ts.isFunctionDeclaration(node) && isExported(node) && isFactory(node.name?.text, node)) counts.factories += 1
    if (ts.isVariableStatement(node) && isExported(node)) {
      const declared = node.declarationList.declarations
      counts.factories += declared.filter(
        (its) => isFactory(its.name.getText(), its.initializer) && its.initializer,
      ).length
    }
    const isFunction = ts.isFunctionLike(node) && 'body' in node && node.body !== undefined
    if (isFunction) {
      if (node.parameters.length >= manyParameters) counts.parameters += 1
      if (depth > 0 && linesOf(node) > longFunction) counts.nested += 1
    }
    ts.forEachChild(node, (child) => visit(child, depth + (isFunction ? 1 : 0)))
  }
  visit(source, 0)
  return counts
}

const sumOf = <T>(items: T[], figure: (item: T) => number) => items.reduce((sum, item) => sum + figure(item), 0)
const rowOf = (room: string, its: typeof files) => ({
  room,
  files: its.length,
  lines: sumOf(its, ({ lines }) => lines),
  [`under ${fewLines} lines`]: its.filter(({ lines }) => lines < fewLines).length,
  factories: sumOf(its, ({ factories }) => factories),
  [`${manyParameters} parameters`]: sumOf(its, ({ parameters }) => parameters),
  [`nested over ${longFunction}`]: sumOf(its, ({ nested }) => nested),
  'imports up': sumOf(
    its,
    (file) =>
      importedBy(file).filter(
        (other) => other !== file.room && floorOf(other) >= 0 && floorOf(other) <= floorOf(file.room),
      ).length,
  ),
})
const rooms = [...new Set(files.map(({ room }) => room))].sort((a, b) => floorOf(a) - floorOf(b) || a.localeCompare(b))
const table = [
  ...rooms.map((room) =>
    rowOf(
      room,
      files.filter((file) => file.room === room),
    ),
  ),
  rowOf('all', files),
]
const columns = Object.keys(table[0] ?? {})
const lineOf = (row: Record<string, unknown>) =>
  columns
    .map((column) => (column === 'room' ? `${row[column]}`.padEnd(12) : `${row[column]}`.padStart(column.length + 2)))
    .join('')
const heading = Object.fromEntries(columns.map((column) => [column, column]))
process.stdout.write(`${[heading, ...table].map(lineOf).join('\n')}\n`)
