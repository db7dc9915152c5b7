import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import { distance } from 'fastest-levenshtein'
import { amountMembers } from '../../generated/client-bodies.ts'

/** A contract, as far as bodies need it. */
interface Contract {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: Schema }> } }>>
  components: object
}

interface Schema {
  $ref?: string
  oneOf?: Schema[]
}

/** What is wrong in a body, a line each. */
type BodyCheck = (method: string, path: string, body: unknown) => string[]

/** Checks bodies against the contract that the service publishes, without a request to it. */
export async function readBodyCheck(url: string): Promise<BodyCheck> {
  const response = await fetch(`${url}/openapi.json`)
  if (!response.ok) throw new Error(`${url}/openapi.json answers ${response.status}`)
  const { paths, components }: Contract = JSON.parse(await response.text(), withAlsoAccepted)
  // The service checks formats, and the lint of the contract has checked its schemas.
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    verbose: true,
    validateFormats: false,
    validateSchema: false,
  })
  const resolve = (schema: Schema): Schema =>
    schema.$ref ? resolve(at({ components }, schema.$ref.slice(2).split('/')) as Schema) : schema
  const errorsOf = (schema: Schema, body: unknown): ErrorObject[] => {
    const check = ajv.compile({ ...schema, components })
    return check(body) ? [] : (check.errors ?? [])
  }
  return (method, path, body) => {
    const schema = resolve(paths[path]?.[method]?.requestBody?.content['application/json']?.schema ?? {})
    // Of alternatives, the one that knows its members, and is most like it.
    const all = (schema.oneOf ?? [schema]).map((one) => errorsOf(one, body))
    const errors = all.sort((a, b) => unknownOf(a) - unknownOf(b) || a.length - b.length)[0] ?? []
    return [...new Set(meant(errors.filter(({ keyword }) => !combining.has(keyword))).map(wordsOf))]
  }
}

/** A number in a file is an amount too: the service takes it, and its contract does not promise that. */
function withAlsoAccepted(_: string, node: unknown): unknown {
  if (typeof node !== 'object' || node === null || !('x-also-accepted' in node)) return node
  const { 'x-also-accepted': also, ...schema } = node
  return { anyOf: [schema, also] }
}

const unknownOf = (errors: ErrorObject[]): number =>
  errors.filter(({ keyword }) => keyword === 'additionalProperties').length

/** Their members have errors of their own. */
const combining: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'if'])

const at = (value: unknown, names: string[]): unknown =>
  names.reduce((its, name) => (its as Record<string, unknown>)[name], value)

function wordsOf(error: ErrorObject): string {
  const { keyword, instancePath, params, parentSchema } = error
  const place = instancePath.replace(/^\//, '').replaceAll('/', '.')
  const about = (name: string) => (place === '' ? name : `${place}.${name}`)
  if (keyword === 'required') return `${about(params.missingProperty)} is missing`
  if (keyword !== 'additionalProperties') return `${place || 'it'} ${expected(place, error)}`
  const known = Object.keys((parentSchema as { properties?: object } | undefined)?.properties ?? {})
  const near = nearest(params.additionalProperty, known)
  return `${about(params.additionalProperty)} is no member${near === undefined ? '' : `; did you mean ${near}?`}`
}

/** Of the alternatives of a member: the one that the contract has words for, or whose members are wrong, not that it may be null. */
const meant = (errors: ErrorObject[]): ErrorObject[] =>
  errors.filter(({ keyword, instancePath, parentSchema }) => {
    if (keyword !== 'type' || 'x-expected' in (parentSchema ?? {})) return true
    const others = errors.filter((other) => other.keyword !== 'type')
    return !others.some(
      (other) => other.instancePath === instancePath || other.instancePath.startsWith(`${instancePath}/`),
    )
  })

const amount = 'an amount in wei or with a unit, for example 1000, 2.5gwei or 0.1ether'
const typeWords: Record<string, string> = {
  array: 'a list',
  object: 'an object',
  integer: 'an integer',
  string: 'a text',
}

/** What a value must be, in the contract's own words where it has some. */
function expected(place: string, { keyword, params, parentSchema, message }: ErrorObject): string {
  const words = (parentSchema as { 'x-expected'?: string } | undefined)?.['x-expected']
  if (amountMembers.has(place.split('.').at(-1) ?? '')) return `must be ${amount}`
  if (words !== undefined) return `must be ${words}`
  if (keyword === 'enum') return `must be one of ${params.allowedValues.join(', ')}`
  if (keyword !== 'type') return message ?? 'is invalid'
  return `must be ${[params.type]
    .flat()
    .map((type: string) => typeWords[type] ?? type)
    .join(' or ')}`
}

/** The name that a wrong one is most like, if it is like any. */
export function nearest(wrong: string, names: readonly string[]): string | undefined {
  const [first] = names.map((name) => ({ name, far: distance(wrong, name) })).sort((a, b) => a.far - b.far)
  return first && first.far <= Math.max(2, wrong.length / 3) ? first.name : undefined
}
