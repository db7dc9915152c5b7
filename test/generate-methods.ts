import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { camel, groupOf, nameOf } from '../client/samples/method-name.ts'

/**
 * Writes generated/client-methods.ts: the operations of the contract by name, grouped by their tags. The name is the operationId
 * without the word of its group: `sendTransaction` is `transactions.send`. JSON-RPC and streams have clients of their own.
 *
 * And generated/client-bodies.ts: the members of bodies with their types, for the help of the command line.
 *
 * `--check` writes nothing and fails when the file is not up to date.
 */
const contract = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'generated', 'openapi.json'), 'utf8'))

interface Operation {
  operationId: string
  tags: [string]
  summary: string
  parameters?: { $ref?: string; name?: string; in?: string }[]
  requestBody?: { required?: boolean }
  responses: Record<string, { $ref?: string; content?: Record<string, { schema: Schema }> }>
}
interface Schema {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, Schema>
}

const lookUp = <T extends { $ref?: string }>(part: T): T =>
  part.$ref === undefined
    ? part
    : lookUp(
        part.$ref
          .split('/')
          .slice(1)
          .reduce((node, name) => node[name], contract) as T,
      )

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const
const groups = new Map<string, { name: string; type: string; described: string }[]>()

for (const [path, item] of Object.entries<Record<string, unknown>>(contract.paths)) {
  for (const method of methods) {
    const operation = item[method] as Operation | undefined
    const success = operation && lookUp(operation.responses['200'] ?? operation.responses['201'] ?? {})
    const schema = success?.content?.['application/json']?.schema
    if (!operation || !schema || operation.tags[0] === 'JSON-RPC') continue
    const group = groupOf(operation.tags[0])
    const key = `'${path}', '${method}'`
    const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(
      ([, name]) => `${camel(name)}: ${typeIn(item, operation, name)}`,
    )
    const isOnce = (operation.parameters ?? []).some((one) => lookUp(one).name === 'Idempotency-Key')
    const data = lookUp(lookUp(schema).properties?.data ?? {})
    const isList = method === 'get' && data.type === 'array' && hasPages(operation)
    const once = operation.requestBody ? 'once' : 'once without body'
    const form = isList ? 'list' : isOnce ? once : operation.requestBody ? 'body' : 'plain'
    if (operation.requestBody) parameters.push(`body${operation.requestBody.required ? '' : '?'}: Body<${key}>`)
    parameters.push(`options?: Options<${key}>${isOnce ? ' & Once' : ''}`)
    const answer = isList ? `AsyncGenerator<ItemOf<'${path}'>, void, undefined>` : `ApiPromise<Data<${key}>>`
    const name = nameOf(group, operation.operationId)
    const type = `    /** ${operation.summary}. */\n    ${name}(${parameters.join(', ')}): ${answer}`
    const described = `    ${name}: ['${method}', '${path}', '${form}'],`
    groups.set(group, [...(groups.get(group) ?? []), { name, type, described }])
  }
}

function typeIn(item: Record<string, unknown>, { parameters = [] }: Operation, name: string | undefined): string {
  const all = [...((item.parameters ?? []) as typeof parameters), ...parameters].map(lookUp)
  const { schema } = all.find((one) => one.in === 'path' && one.name === name) as {
    schema?: Schema & { type?: string }
  }
  return schema && lookUp(schema).type === 'integer' ? 'number' : 'string'
}

/** Lists with pages take a page. */
function hasPages({ parameters = [] }: Operation): boolean {
  return parameters.some((one) => lookUp(one).name === 'page')
}

const block = (of: 'type' | 'described', end: string) =>
  [...groups]
    .map(([group, members]) => `  ${group}: {\n${members.map((member) => member[of]).join('\n')}\n  }${end}`)
    .join('\n')

const text = `// Written by test/generate-methods.ts from the contract. Do not change it by hand.
import type { ApiPromise } from '../client/call.ts'
import type { Body, Data, Described, ItemOf, Once, Options } from '../client/contract-types.ts'

/** The operations of the contract by name: the parameters of the path in their order, the body, and options. */
export interface GeneratedMethods {
${block('type', '')}
}

export const methods = {
${block('described', ',')}
} as const satisfies Record<string, Record<string, Described>>
`

/** A member of a body: its name as --set takes it, its type, and the first sentence about it. */
type Member = [name: string, type: string, about: string]
interface Full extends Schema {
  enum?: unknown[]
  const?: unknown
  description?: string
  writeOnly?: boolean
  items?: Full
  anyOf?: Full[]
  oneOf?: Full[]
  properties?: Record<string, Full>
  required?: string[]
}

const amount = '#/components/schemas/AmountInput'
const amounts = new Set<string>()
const secrets = new Set<string>()

function membersOf(schema: Full, before = ''): Member[] {
  const { properties = {}, required = [], anyOf = [], oneOf = [] } = lookUp(schema) as Full
  const own = Object.entries(properties).flatMap(([name, its]): Member[] => {
    const path = `${before}${name}`
    const { description = '', writeOnly } = { ...lookUp(its), ...its }
    if (writeOnly) secrets.add(name)
    const inner = membersOf(its, `${path}.`)
    if (inner.length > 0 && before.split('.').length < 2) return inner
    if (isAmount(its)) amounts.add(name)
    const type = before === '' && required.includes(name) ? `${typeOf(its)} (required)` : typeOf(its)
    return [[path, type, firstSentence(description)]]
  })
  const branches = [...anyOf, ...oneOf]
    .map((branch) => ({ tag: before === '' ? tagOf(branch) : undefined, members: membersOf(branch, before) }))
    .filter(({ members }) => members.length > 0)
  return [...own, ...together(branches)]
}

const isRequired = / \(required\)$/

/** The members of alternatives: one is required where each requires it, and says of which it is. */
function together(branches: { tag: string | undefined; members: Member[] }[]): Member[] {
  const names = new Set(branches.flatMap(({ members }) => members.map(([name]) => name)))
  return [...names].map((name): Member => {
    const found = branches.flatMap(({ tag, members }) =>
      members.filter((member) => member[0] === name).map(([, type, about]) => ({ tag, type, about })),
    )
    const isOfAll = found.length === branches.length
    const types = new Set(found.flatMap(({ type }) => type.replace(isRequired, '').split(' | ')))
    const required = isOfAll && found.every(({ type }) => isRequired.test(type)) ? ' (required)' : ''
    const tags = found.map(({ tag }) => tag)
    const of = isOfAll || tags.includes(undefined) ? '' : ` (${tags.join(', ')})`
    const abouts = new Set(found.map(({ about }) => about))
    return [name, `${[...types].join(' | ')}${required}${of}`, abouts.size === 1 ? [...abouts].join('') : '']
  })
}

/** The value of the member that tells an alternative from the others. */
const tagOf = (branch: Full): string | undefined =>
  Object.values((lookUp(branch) as Full).properties ?? {}).flatMap((its) => {
    const { const: value } = { ...(lookUp(its) as Full), ...its }
    return value === undefined ? [] : [String(value)]
  })[0]

const isAmount = (schema: Full): boolean =>
  schema.$ref === amount || [...(schema.anyOf ?? [])].some((branch) => branch.$ref === amount)

function typeOf(schema: Full): string {
  if (isAmount(schema)) return 'amount in wei, or with a unit (1ether, 50gwei)'
  const its = { ...lookUp(schema), ...schema }
  const { type, items } = its
  const branches = (its.anyOf ?? its.oneOf ?? []).flatMap((branch) => lookUp(branch).oneOf ?? [branch])
  if (its.const !== undefined) return String(its.const)
  const values = [...(its.enum ?? []), ...branches.flatMap((branch) => lookUp(branch).enum ?? [])]
  if (values.length > 0) return values.join(' | ')
  const types = [...new Set([type ?? branches.map((branch) => lookUp(branch).type)].flat(2))].filter(
    (one) => one && one !== 'null',
  )
  if (types.includes('array')) return `list of ${items ? typeOf(items) : 'values'}`
  return types.map((one) => (one === 'string' ? 'text' : one)).join(' or ') || 'value'
}

const firstSentence = (text: string): string =>
  /^.*?\.(?=\s|$)/.exec(text.replace(/\s+/g, ' ').trim())?.[0] ?? text.trim()

const bodies = Object.entries<Record<string, unknown>>(contract.paths).flatMap(([path, item]) =>
  methods.flatMap((method) => {
    const operation = item[method] as { requestBody?: { content: Record<string, { schema: Full }> } } | undefined
    const schema = operation?.requestBody?.content['application/json']?.schema
    const members = schema ? membersOf(schema) : []
    return members.length > 0 ? [[`${method} ${path}`, members] as const] : []
  }),
)

const bodiesText = `// Written by test/generate-methods.ts from the contract. Do not change it by hand.

/** The members of each body: the name as --set takes it, the type, and the first sentence about it. */
export const bodyMembers: Record<string, [name: string, type: string, about: string][]> = ${JSON.stringify(Object.fromEntries(bodies), null, 1)}

/** The members that are amounts. */
export const amountMembers: ReadonlySet<string> = new Set(${JSON.stringify([...amounts])})

/** The members that are secrets: the contract calls them writeOnly. */
export const secretMembers: ReadonlySet<string> = new Set(${JSON.stringify([...secrets])})
`

for (const [name, content] of [
  ['client-methods.ts', text],
  ['client-bodies.ts', bodiesText],
] as const) {
  const file = join(import.meta.dirname, '..', 'generated', name)
  if (!process.argv.includes('--check')) writeFileSync(file, content)
  else if (readFileSync(file, 'utf8') !== content) {
    console.error(`generated/${name} is not up to date: run \`npm run generate\``)
    process.exitCode = 1
  }
}
