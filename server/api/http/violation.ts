import type { Request } from 'express'
import { nearestOf } from '../../lib/nearest.ts'
import type { ContractDocument, OperationFacts } from './document.ts'
import { ApiError, type Detail } from './errors.ts'
import { contractAjv, type ErrorObject, type ValidateFunction } from './schema-check.ts'

/** A request that violates the contract, as express-openapi-validator throws it. */
interface Violation {
  status: number
  message: string
  errors: { path: string; message?: string; errorCode?: string }[]
}

const maxDetails = 20
const maxCharacters = 1_000

export const isViolation = (error: unknown): error is Violation =>
  error instanceof Error &&
  (error as Partial<Violation>).status === 400 &&
  Array.isArray((error as Partial<Violation>).errors)

/** A body with more violations is not described by itself, which bounds the work. */
const maxViolations = 200

/**
 * The failure (400) with every violation. `names`: those of the contract's properties and parameters. `inWords`: describes the
 * violations of the request.
 */
export function requestViolation({ errors }: Violation, names: ReadonlySet<string>, inWords: () => Detail[]): ApiError {
  const details = new Map<string, Detail>()
  for (const { path, code = 'invalid_value', message = 'is invalid' } of described(errors, inWords)) {
    const shown = shownPath(path, names).slice(0, maxCharacters)
    // One violation per value, the first, is reported.
    if (!details.has(shown)) details.set(shown, { path: shown, code, message: message.slice(0, maxCharacters) })
    if (details.size >= maxDetails) break
  }
  return new ApiError('invalid_request', 'Bad Request', [...details.values()])
}

function described(errors: Violation['errors'], inWords: () => Detail[]): (Partial<Detail> & { path: string })[] {
  const told = errors.length > maxViolations ? [] : inWords()
  if (told.length > 0) return told
  return errors.map(({ errorCode = '', ...its }) => ({ ...its, code: codeOf(errorCode.split('.')[0] as string) }))
}

const word = /^[A-Za-z_]{1,31}(?:\[\w{0,9}\])?$/

/**
 * An unknown name is shown when it is a word, which helps with a misspelling. A key or token in the place of a name is redacted, so
 * that it does not reach the response and its logs.
 */
export const redactName = (name: string): string => (word.test(name) ? name : '*')

/** The caller's names may be anywhere in a path and may contain slashes. */
function shownPath(path: string, names: ReadonlySet<string>): string {
  const [, root = '', ...segments] = path.split('/')
  const shown = segments.map((name) => (names.has(name) || /^\d{1,6}$/.test(name) ? name : redactName(name)))
  const end = shown.indexOf('*')
  return ['', root === 'params' ? 'path' : root, ...(end < 0 ? shown : shown.slice(0, end + 1))].join('/')
}

const maxNames = 30

/** The code of a detail for the keyword of the schema that a value violates. */
const codeOf = (keyword: string): string => codes[keyword] ?? 'invalid_value'
const codes: Record<string, string> = {
  ...{ required: 'required', additionalProperties: 'unknown_member', type: 'invalid_type' },
  ...{ enum: 'not_permitted', const: 'not_permitted', pattern: 'invalid_format', format: 'invalid_format' },
  ...{ minimum: 'out_of_range', maximum: 'out_of_range', exclusiveMinimum: 'out_of_range' },
  ...{
    minLength: 'invalid_length',
    maxLength: 'invalid_length',
    minItems: 'invalid_length',
    maxItems: 'invalid_length',
  },
}

/** Where a value violates its schema, and what would be right. `at`: the JSON pointer of the value that was checked. */
function violationText(
  { instancePath, keyword, params, parentSchema, message, data }: ErrorObject,
  at: string,
): Detail {
  const path = `${at}${instancePath}`
  const { 'x-expected': expected, properties = {} } = parentSchema as { 'x-expected'?: string; properties?: object }
  const code = codeOf(keyword)
  switch (keyword) {
    case 'required':
      return { path: `${path}/${params.missingProperty}`, code, message: 'is required' }
    case 'additionalProperties':
      return {
        path: `${path}/${params.additionalProperty}`,
        code,
        message: `${unknownProperty(params.additionalProperty, Object.keys(properties))}${expected ? `; ${expected}` : ''}`,
      }
    case 'const':
      return { path, code, message: oneOf([params.allowedValue]) }
    case 'enum':
      return { path, code, message: `${oneOf(params.allowedValues)}${ofList(at, data)}` }
    case 'type':
      return { path, code, message: ofTypes([params.type].flat()) }
    case 'pattern':
    case 'format':
      return { path, code, message: expected ? `must be ${expected}` : (message ?? 'is invalid') }
    default:
      return { path, code, message: message ?? 'is invalid' }
  }
}

/**
 * The violations of the alternative that the caller most likely meant: its constants match (`type: "vault"`), then fewest
 * violations. One violation, when no alternative has the type of the value or its constant. `branches`: the violations of each
 * alternative.
 */
function expectedBranch(branches: ErrorObject[][]): ErrorObject[] | Detail {
  const typed = branches.filter((errors) => !errors.some(isOfWholeType))
  if (typed.length === 0) return { path: '', code: codeOf('type'), message: ofTypes(branches.flatMap(wholeTypes)) }
  const tagged = typed.filter((errors) => !errors.some(isTag))
  if (tagged.length > 0) return nearest(tagged)
  const tags = typed.flatMap((errors) => errors.filter(isTag))
  return { path: tags.map(tagPath)[0] ?? '', code: codeOf('const'), message: oneOf(tags.map(tagValue)) }
}

/** Fewest members that only another alternative has, then fewest violations. */
function nearest(branches: ErrorObject[][]): ErrorObject[] {
  const ranked = branches.map((errors) => {
    const others = branches.filter((other) => other !== errors)
    return { errors, others, foreign: errors.filter((error) => knownElsewhere(error, others)).length }
  })
  const { errors, others } = ranked.reduce((best, each) =>
    each.foreign - best.foreign < 0 || (each.foreign === best.foreign && each.errors.length < best.errors.length)
      ? each
      : best,
  )
  return errors.map(
    (error) => ofExcluded(error, errors, others) ?? ofMissing(error, errors, others) ?? ofNone(error, others) ?? error,
  )
}

const unknownName = ({ keyword, instancePath, params }: ErrorObject): string | undefined =>
  keyword === 'additionalProperties' && instancePath === '' ? params.additionalProperty : undefined
const missingName = ({ keyword, instancePath, params }: ErrorObject): string | undefined =>
  keyword === 'required' && instancePath === '' ? params.missingProperty : undefined

/** An alternative that knows a name which this one does not. */
const knownElsewhere = (error: ErrorObject, others: ErrorObject[][]): ErrorObject[] | undefined => {
  const name = unknownName(error)
  return name === undefined ? undefined : others.find((errors) => !errors.some((other) => unknownName(other) === name))
}

/** A member that another alternative has in the place of given ones. */
function ofExcluded(error: ErrorObject, errors: ErrorObject[], others: ErrorObject[][]): ErrorObject | undefined {
  const sibling = knownElsewhere(error, others)
  const rivals = sibling?.filter((other) => knownElsewhere(other, [errors])) ?? []
  if (rivals.length === 0) return undefined
  const required = [error, ...rivals].flatMap(({ parentSchema }) => parentSchema?.required ?? [])
  const names = [...rivals, error].map(unknownName) as string[]
  return exclusive(error, names, names.every((name) => required.includes(name)) ? 'exactly' : 'at most')
}

/** A member that is missing, where each alternative requires another one. */
function ofMissing(error: ErrorObject, errors: ErrorObject[], others: ErrorObject[][]): ErrorObject | undefined {
  const isGiven = others.some((other) => other.some((each) => knownElsewhere(each, [errors])))
  if (missingName(error) === undefined || others.length === 0 || isGiven) return undefined
  const ownOf = (branch: ErrorObject[], than: ErrorObject[]) =>
    branch.map(missingName).filter((name) => name !== undefined && !than.some((each) => missingName(each) === name))
  const rivals = others.map((other) => ownOf(other, errors))
  const own = others.map((other) => ownOf(errors, other))
  if (!own.every((names) => names[0] === missingName(error)) || [...own, ...rivals].some(({ length }) => length !== 1))
    return undefined
  return exclusive(error, [own[0]?.[0], ...rivals.flat()] as string[], 'exactly')
}

/** A member that no alternative has: those of all of them are known. */
function ofNone(error: ErrorObject, others: ErrorObject[][]): ErrorObject | undefined {
  const name = unknownName(error)
  if (name === undefined) return undefined
  const refused = others.flat().filter((other) => unknownName(other) === name)
  const properties = Object.assign({}, ...[error, ...refused].map(({ parentSchema }) => parentSchema?.properties))
  return { ...error, parentSchema: { ...error.parentSchema, properties } }
}

const exclusive = (error: ErrorObject, names: string[], many: 'exactly' | 'at most'): ErrorObject => ({
  ...error,
  keyword: 'exclusive',
  instancePath: `/${unknownName(error) ?? missingName(error)}`,
  message: `give ${many} one of ${names.slice(0, -1).join(', ')} and ${names.at(-1)}`,
})

const isOfWholeType = ({ keyword, instancePath }: ErrorObject): boolean => keyword === 'type' && instancePath === ''

/** A property with a constant that distinguishes the alternatives is missing or has another value. */
const isTag = (error: ErrorObject): boolean => tagValue(error) !== undefined && /^\/[^/]+$/.test(tagPath(error))
const tagPath = ({ instancePath, params: { missingProperty } }: ErrorObject): string =>
  missingProperty === undefined ? instancePath : `${instancePath}/${missingProperty}`
const tagValue = ({ keyword, params, parentSchema }: ErrorObject): unknown =>
  keyword === 'const' ? params.allowedValue : parentSchema?.properties?.[params.missingProperty]?.const

const wholeTypes = (errors: ErrorObject[]): string[] =>
  errors.filter(isOfWholeType).flatMap(({ params }) => params.type)

function unknownProperty(name: string, known: string[]): string {
  const near =
    nearestOf(name, known, Math.max(2, Math.floor(name.length / 4))) ??
    known.find((other) => other.startsWith(`${name}_`))
  const list = known.length > 0 && known.length <= maxNames ? `; known: ${known.join(', ')}` : ''
  return `is not a known property${list}${near === undefined ? '' : `; did you mean ${near}?`}`
}

const fixedMember = 'cannot be changed after the creation; create another one with this value'

/** Of a parameter that takes several values. */
const ofList = (at: string, value: unknown): string =>
  at.startsWith('/query') && String(value).includes(',') ? '; repeat the parameter for several values' : ''

function oneOf(values: unknown[]): string {
  const shown = [...new Set(values)].map((value) => JSON.stringify(value))
  return shown.length === 1 ? `must be ${shown[0]}` : `must be one of ${shown.join(', ')}`
}

const articles: Record<string, string> = { array: 'an array', integer: 'an integer', null: 'null', object: 'an object' }

const ofTypes = (types: string[]): string =>
  `must be ${[...new Set(types)].map((type) => articles[type] ?? `a ${type}`).join(' or ')}`

/** The parts of a request: where Express has them, and where the contract has their parameters. */
const parts = [
  { part: 'params', of: 'path', at: '/path' },
  { part: 'query', of: 'query', at: '/query' },
  { part: 'headers', of: 'header', at: '/headers' },
] as const

/**
 * Describes the violations of a request that the validator refused, in the words of the contract. The validator reports the violations of
 * every alternative of an `anyOf`; this reports those of the alternative that the caller most likely meant. Schemas are compiled at their
 * first use.
 */
export class RequestViolations {
  readonly #x: ContractDocument
  readonly #ajv = contractAjv({ allErrors: true, verbose: true, validateSchema: false })
  readonly #inline = new WeakMap<object, ValidateFunction>()
  readonly #places: [object, string][]
  readonly #pointers: Map<object, string>
  readonly #targets: Map<string, Choice>

  constructor(x: ContractDocument) {
    this.#x = x
    this.#ajv.addSchema({ components: this.#x.components }, 'contract')
    this.#places = pointersIn(this.#x.components.schemas, '#/components/schemas')
    this.#pointers = new Map(this.#places)
    this.#targets = new Map(this.#places.map(([schema, pointer]) => [pointer, schema as Choice]))
  }

  in(
    { parameters, bodySchemas, fixedMembers }: Pick<OperationFacts, 'parameters' | 'bodySchemas' | 'fixedMembers'>,
    request: Request,
  ): Detail[] {
    const ofParameters = parts.flatMap(({ part, of, at }) =>
      parameters
        .filter((parameter) => parameter.in === of)
        .flatMap(({ name, required = false, schema }) => {
          const place = `${at}/${of === 'header' ? name.toLowerCase() : name}`
          const value = request[part][of === 'header' ? name.toLowerCase() : name]
          if (value !== undefined) return schema ? this.of(schema, value, place) : []
          return required ? [{ path: place, code: codeOf('required'), message: 'is required' }] : []
        }),
    )
    const body = bodySchemas[request.headers['content-type'] ?? '']
    if (body === undefined) return ofParameters
    const ofBody = this.of(body, request.body).map((detail) => {
      const name = detail.path.replace(/^\/body\//, '')
      return fixedMembers.has(name) ? { ...detail, message: fixedMember } : detail
    })
    return [...ofParameters, ...ofBody]
  }

  /** Of a value with this schema, with JSON pointers that begin with `at`; empty when it finds none. */
  of(schema: object, value: unknown, at = '/body'): Detail[] {
    return this.#violations(this.#errorsOf(schema, value), at)
  }

  #errorsOf(schema: object, value: unknown): ErrorObject[] {
    const pointer = (schema as { $ref?: string }).$ref ?? this.#pointers.get(schema)
    const check = pointer === undefined ? this.#ofInline(schema) : this.#ajv.getSchema(`contract${pointer}`)
    if (!check) throw new Error(`The contract has no schema ${pointer}`)
    check(value)
    return check.errors ?? []
  }

  /** The check of a schema that is written inline in an operation, not a component of the contract. */
  #ofInline(schema: object): ValidateFunction {
    const check = this.#inline.get(schema) ?? this.#ajv.compile({ ...schema, components: this.#x.components })
    this.#inline.set(schema, check)
    return check
  }

  #violations(errors: ErrorObject[], at: string): Detail[] {
    // Ajv reports a choice after the choices within it.
    const outermost = errors
      .filter(isChoice)
      .reverse()
      .filter((choice, index, reversed) => !reversed.slice(0, index).some((other) => covers(other, choice)))
    const others = errors.filter(
      (error) => !outermost.some((choice) => covers(choice, error)) && !isTold(error, errors),
    )
    return [
      ...others.map((error) => violationText(error, at)),
      ...outermost.flatMap((choice) => this.#ofChoice(choice, `${at}${choice.instancePath}`)),
    ]
  }

  /** A choice that is an alternative itself counts as its alternatives. */
  #alternatives(schema: Choice): Choice[] {
    const { anyOf, oneOf } = this.#targets.get(schema.$ref ?? '') ?? schema
    return (anyOf ?? oneOf)?.flatMap((schema) => this.#alternatives(schema)) ?? [schema]
  }

  #ofChoice({ schema, data }: ErrorObject, at: string): Detail[] {
    const branch = expectedBranch(
      (schema as Choice[]).flatMap((schema) => this.#alternatives(schema)).map((each) => this.#errorsOf(each, data)),
    )
    return Array.isArray(branch)
      ? this.#violations(branch, at)
      : [{ path: `${at}${branch.path}`, message: branch.message }]
  }
}

type Choice = { $ref?: string; anyOf?: Choice[]; oneOf?: Choice[] }

/** A text whose form is wrong is told its form, and not how long it may be. */
const isTold = ({ keyword, instancePath }: ErrorObject, errors: ErrorObject[]): boolean =>
  /^(?:min|max)Length$/.test(keyword) &&
  errors.some((other) => other.keyword === 'pattern' && other.instancePath === instancePath)

const isChoice = ({ keyword }: ErrorObject): boolean => keyword === 'anyOf' || keyword === 'oneOf'

/** Whether the second violation is at or below the value of the first. */
const covers = (outer: ErrorObject, inner: ErrorObject): boolean =>
  inner.instancePath === outer.instancePath || inner.instancePath.startsWith(`${outer.instancePath}/`)

/** The JSON pointers of the alternatives inside other schemas. */
function pointersIn(node: unknown, at: string): [object, string][] {
  if (typeof node !== 'object' || node === null) return []
  return [[node, at], ...Object.entries(node).flatMap(([key, child]) => pointersIn(child, `${at}/${encode(key)}`))]
}

/** As a part of a JSON pointer (RFC 6901) in a URI fragment. */
const encode = (key: string): string => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))
