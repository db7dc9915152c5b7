import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import { distance } from 'fastest-levenshtein'

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
export type BodyCheck = (method: string, path: string, body: unknown) => string[]

/** Checks bodies against the contract that the service publishes, without a request to it. */
export async function readBodyCheck(url: string): Promise<BodyCheck> {
  const response = await fetch(`${url}/openapi.json`)
  if (!response.ok) throw new Error(`${url}/openapi.json answers ${response.status}`)
  const { paths, components } = (await response.json()) as Contract
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
    // Of alternatives, the one that the body is most like.
    const all = (schema.oneOf ?? [schema]).map((one) => errorsOf(one, body))
    const errors = all.sort((a, b) => a.length - b.length)[0] ?? []
    return [...new Set(errors.filter(({ keyword }) => !combining.has(keyword)).map(wordsOf))]
  }
}

/** Their members have errors of their own. */
const combining: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'if'])

const at = (value: unknown, names: string[]): unknown =>
  names.reduce((its, name) => (its as Record<string, unknown>)[name], value)

function wordsOf({ keyword, instancePath, params, parentSchema, message }: ErrorObject): string {
  const place = instancePath.replace(/^\//, '').replaceAll('/', '.')
  const about = (name: string) => (place === '' ? name : `${place}.${name}`)
  if (keyword === 'required') return `${about(params.missingProperty)} is missing`
  if (keyword !== 'additionalProperties') return `${place || 'it'} ${expected(parentSchema) ?? message}`
  const known = Object.keys((parentSchema as { properties?: object } | undefined)?.properties ?? {})
  const near = nearest(params.additionalProperty, known)
  return `${about(params.additionalProperty)} is no member${near === undefined ? '' : `; did you mean ${near}?`}`
}

/** The contract's own words for what a text must be. */
function expected(schema: unknown): string | undefined {
  const words = (schema as { 'x-expected'?: string } | undefined)?.['x-expected']
  return words === undefined ? undefined : `must be ${words}`
}

/** The name that a wrong one is most like, if it is like any. */
export function nearest(wrong: string, names: readonly string[]): string | undefined {
  const [first] = names.map((name) => ({ name, far: distance(wrong, name) })).sort((a, b) => a.far - b.far)
  return first && first.far <= Math.max(2, wrong.length / 3) ? first.name : undefined
}
