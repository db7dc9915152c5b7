import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { openRegistry } from '../server/telemetry/metrics.ts'

/** Writes the lists of the service's metrics and alerts into docs/operations.md, between their marks. `--check` fails when one is out of date. */
const root = join(import.meta.dirname, '..')
const file = join(root, 'docs', 'operations.md')

interface Rule {
  alert: string
  for: string
  labels: { severity: string }
  annotations: { summary: string; description: string }
}

const metrics = openRegistry({ readGauges: async () => undefined, unreadable() {}, balances: () => [] })
  .list()
  .map(({ name, type, help, labels }) => [`\`${name}\``, type, labels.map((label) => `\`${label}\``).join(', '), help])
const { groups } = parse(readFileSync(join(root, 'server', 'telemetry', 'alerts.yaml'), 'utf8')) as {
  groups: { rules: Rule[] }[]
}
const alerts = groups
  .flatMap(({ rules }) => rules)
  .map(({ alert, labels, annotations: { summary, description } }) => [
    `\`${alert}\``,
    labels.severity,
    withoutTemplates(summary),
    withoutTemplates(description),
  ])

/** \`{{ $labels.relayer }}\` becomes _relayer_; one line. */
function withoutTemplates(text: string): string {
  return text
    .replaceAll(/`([^`]*)\{\{ \$labels\.(\w+) \}\}([^`]*)`/g, '`$1$2$3`')
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '_$1_')
    .replaceAll(/\{\{ \$value[^}]*\}\}/g, '_n_')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

function tableOf([head = [], ...rows]: string[][]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((cells) => cells[column]?.length ?? 0)))
  const line = (cells: string[]) => `| ${cells.join(' | ')} |\n`
  const padded = (cells: string[]) => line(cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)))
  return [padded(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(padded)].join('')
}

const lists = {
  metrics: tableOf([['metric', 'type', 'labels', 'meaning'], ...metrics]),
  alerts: alerts.map(([name, severity, ...sentences]) => `- ${name} (${severity}): ${sentences.join('. ')}\n`).join(''),
}

const text = readFileSync(file, 'utf8')
let current = text
for (const [name, list] of Object.entries(lists)) {
  const begin = `<!-- ${name}: npm run generate:metrics -->\n`
  const from = current.indexOf(begin) + begin.length
  current = `${current.slice(0, from)}${list}${current.slice(current.indexOf(`<!-- end of ${name} -->`))}`
}
if (!process.argv.includes('--check')) writeFileSync(file, current)
else if (current !== text) {
  console.error('The lists in docs/operations.md are out of date: run `npm run generate:metrics`')
  process.exitCode = 1
}
