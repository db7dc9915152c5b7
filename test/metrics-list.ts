import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openRegistry } from '../server/telemetry/metrics.ts'

/** Writes the list of the service's metrics into docs/operations.md, between its two marks. `--check` fails when it is out of date. */
const file = join(import.meta.dirname, '..', 'docs', 'operations.md')
const [begin, end] = ['<!-- metrics: npm run generate:metrics -->\n', '<!-- end of metrics -->']

const rows = openRegistry({ readGauges: async () => undefined, unreadable() {}, balances: () => [] })
  .list()
  .map(({ name, type, help, labels }) => [`\`${name}\``, type, labels.map((label) => `\`${label}\``).join(', '), help])
const table = [['metric', 'type', 'labels', 'meaning'], ...rows]
const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0)))
const line = (cells: string[]) => `| ${cells.join(' | ')} |\n`
const rule = line(widths.map((width) => '-'.repeat(width)))
const [head, ...body] = table.map((cells) => line(cells.map((cell, column) => cell.padEnd(widths[column] ?? 0))))
const lines = [head, rule, ...body].join('')

const text = readFileSync(file, 'utf8')
const from = text.indexOf(begin) + begin.length
const current = `${text.slice(0, from)}${lines}${text.slice(text.indexOf(end))}`
if (!process.argv.includes('--check')) writeFileSync(file, current)
else if (current !== text) {
  console.error('The list of metrics in docs/operations.md is out of date: run `npm run generate:metrics`')
  process.exitCode = 1
}
