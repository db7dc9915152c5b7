import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ofThisVersion } from '../../server/api/http/validator-document.ts'

/** The contract of the last release, without examples. `npm run release-contract` renews it. */
export const releasedFile = join(import.meta.dirname, 'released.json')
const root = join(import.meta.dirname, '..', '..')
export const presentFile = join(root, 'generated', 'openapi.json')

interface Report {
  changes: { path: string; verdicts: { impact: string; message: string }[] }[]
}

/** A new type of event, which is an addition (docs/compatibility.md): `redocly diff` reports it as a break. */
const newEvent = /^#\/webhooks\/.*\/schema\/oneOf\/\d+$/

/** The changes from one contract to another that break clients: what `redocly diff` finds, and what it does not look at. */
export async function breaksBetween(base: string, revision: string): Promise<string[]> {
  const config = join(import.meta.dirname, 'redocly.yaml')
  // A client ignores values that it does not know (docs/compatibility.md), so a new one breaks none.
  const skipped = ['--skip-rule', 'enum-values-added']
  const contracts = [base, revision].map((file) => JSON.parse(readFileSync(file, 'utf8'), withUnions))
  const folder = mkdtempSync(join(tmpdir(), 'contracts-'))
  const files = ['base.json', 'revision.json'].map((name) => join(folder, name))
  for (const [index, file] of files.entries()) writeFileSync(file, JSON.stringify(contracts[index]))
  const command = ['diff', ...files, '--config', config, '--format', 'json', '--fail-on', 'none', ...skipped]
  const redocly = join(root, 'node_modules', '.bin', 'redocly')
  const { stdout } = await promisify(execFile)(redocly, command, { maxBuffer: 2 ** 28 }).finally(() =>
    rmSync(folder, { recursive: true }),
  )
  const { changes }: Report = JSON.parse(stdout)
  const verdicts = changes.filter(({ path }) => !newEvent.test(path)).flatMap((change) => change.verdicts)
  const found = verdicts.filter(({ impact }) => impact === 'major').map(({ message }) => message)
  const [before, after] = contracts
  return [...new Set([...found, ...lostBetween(before, after)])]
}

/** `redocly diff` compares what a union refers to, so open ones become unions. */
const withUnions = (_: string, node: unknown) =>
  isNode(node) && 'x-extensible-one-of' in node ? ofThisVersion(node) : node

type Node = Record<string, unknown>

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null

const nameOf = ({ name, $ref }: { name?: string; $ref?: string }) => name ?? $ref?.split('/').at(-1)

/** What generated clients use of one object of a contract, and `redocly diff` does not compare. */
/** Generators make types of components. */
const kindOf: Record<string, string> = { schemas: 'Schema', responses: 'Response', parameters: 'Parameter' }

function usedOf(node: Node, path: string[]): string[] {
  const name = path.at(-1)
  const { tags, parameters, required, discriminator, default: value } = node
  const listed = (values: unknown) => (Array.isArray(values) ? values : [])
  const mapping = isNode(discriminator) && isNode(discriminator.mapping) ? Object.keys(discriminator.mapping) : []
  // What the service sends. A parameter of a request that is no longer required breaks nobody.
  const isSent = path.includes('headers') || path[0] === 'webhooks'
  const isSchema = name !== 'properties' && name !== 'responses'
  return [
    ...(path[0] === 'components' && path.length === 2
      ? Object.keys(node).map((its) => `${kindOf[name ?? ''] ?? name} \`${its}\``)
      : []),
    ...('operationId' in node ? listed(tags).map((tag) => `Tag \`${tag}\` of \`${node.operationId}\``) : []),
    ...('operationId' in node && !('x-audience' in node) ? [`Audience of \`${node.operationId}\``] : []),
    ...(isSent && required === true ? [`Header \`${name}\` in every message`] : []),
    ...('operationId' in node && path[0] !== 'webhooks'
      ? listed(parameters).map(
          (its, index) => `Parameter \`${nameOf(its)}\` as number ${index + 1} of \`${node.operationId}\``,
        )
      : []),
    ...(path[0] === 'webhooks' ? listed(parameters).map((its) => `Header \`${its.name}\` of a webhook`) : []),
    ...listed(node['x-extensible-enum']).map((its) => `Value \`${its}\` of \`${name}\``),
    ...mapping.map((tag) => `Value \`${tag}\` of the discriminator of \`${name}\``),
    ...(isSchema && value !== undefined ? [`Default \`${JSON.stringify(value)}\` of \`${name}\``] : []),
  ]
}

/** Members of a list are compared by what they name: their order has no meaning. */
const membersOf = (node: Node): Map<string, unknown> =>
  new Map(
    Object.entries(node).map(([key, its]) => [
      Array.isArray(node) && isNode(its) ? String(its.name ?? its.$ref ?? key) : key,
      its,
    ]),
  )

function lostBetween(base: Node, revision: Node, path: string[] = []): string[] {
  const kept = new Set(usedOf(revision, path))
  const lost = usedOf(base, path).filter((used) => !kept.has(used))
  const now = membersOf(revision)
  const below = [...membersOf(base)].flatMap(([key, its]) => {
    const other = now.get(key)
    return isNode(its) && isNode(other)
      ? lostBetween(its, other, [...path, key === 'schema' ? (path.at(-1) ?? key) : key])
      : []
  })
  return [...lost.map((used) => `${used} was removed or changed.`), ...below]
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
