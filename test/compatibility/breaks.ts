import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The contract of the last release, without examples. `npm run release-contract` renews it. */
export const releasedFile = join(import.meta.dirname, 'released.json')
const root = join(import.meta.dirname, '..', '..')
export const presentFile = join(root, 'generated', 'openapi.json')

interface Report {
  changes: { impact: string; verdicts: { impact: string; message: string }[] }[]
}

/** The changes from one contract to another that break clients, as `redocly diff` describes them. */
export async function breaksBetween(base: string, revision: string): Promise<string[]> {
  const config = join(import.meta.dirname, 'redocly.yaml')
  // A client ignores values that it does not know (docs/compatibility.md), so a new one breaks none.
  const skipped = ['--skip-rule', 'enum-values-added']
  const command = ['diff', base, revision, '--config', config, '--format', 'json', '--fail-on', 'none', ...skipped]
  const run = promisify(execFile)
  const { stdout } = await run(join(root, 'node_modules', '.bin', 'redocly'), command, { maxBuffer: 2 ** 28 })
  const { changes }: Report = JSON.parse(stdout)
  const verdicts = changes.flatMap((change) => change.verdicts.filter(({ impact }) => impact === 'major'))
  return [...new Set(verdicts.map(({ message }) => message))]
}

const heading = '### Breaking changes of the contract'

/** The breaks that the newest version of the changelog does not announce: its section names each word in backticks of the message. */
export function unannounced(breaks: string[], changelog: string): string[] {
  const newest = changelog.split(/^## /m)[1] ?? ''
  const section = newest.split(`${heading}\n`)[1]?.split(/^###? /m)[0] ?? ''
  return breaks.filter((text) => (text.match(/`[^`]+`/g) ?? [text]).some((word) => !section.includes(word)))
}

const left: ReadonlySet<string> = new Set(['example', 'examples', 'x-codeSamples'])

if (process.argv[1] === import.meta.filename) {
  const contract = JSON.parse(readFileSync(presentFile, 'utf8'), (key, value) => (left.has(key) ? undefined : value))
  writeFileSync(releasedFile, `${JSON.stringify(contract)}\n`)
}
