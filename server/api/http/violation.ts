import type { ErrorObject } from 'ajv'
import { ApiError, type Detail } from './errors.ts'

/** A request that violates the contract, as express-openapi-validator throws it. */
export interface Violation {
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
 * The failure (400) with every violation. `names`: those of the contract's properties and parameters. `ofBody`: describes the
 * violations of the body.
 */
export function requestViolation(
  { errors }: Violation,
  names: ReadonlySet<string>,
  ofBody: () => Detail[] | undefined,
): ApiError {
  const details = new Map<string, Detail>()
  for (const { path, message = 'is invalid' } of described(errors, ofBody)) {
    const shown = shownPath(path, names).slice(0, maxCharacters)
    // One violation per value, the first, is reported.
    if (!details.has(shown)) details.set(shown, { path: shown, message: message.slice(0, maxCharacters) })
    if (details.size >= maxDetails) break
  }
  return new ApiError('invalid_request', 'Bad Request', [...details.values()])
}

function described(errors: Violation['errors'], ofBody: () => Detail[] | undefined): Violation['errors'] {
  const elsewhere = errors.filter(({ path }) => !/^\/body(?:\/|$)/.test(path))
  if (elsewhere.length === errors.length || errors.length > maxViolations) return errors
  const inBody = ofBody() ?? []
  return inBody.length > 0 ? [...elsewhere, ...inBody] : errors
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

/** Where a value violates its schema, and what would be right. `at`: the JSON pointer of the value that was checked. */
export function violationText(
  { instancePath, keyword, params, parentSchema, message }: ErrorObject,
  at: string,
): Detail {
  const path = `${at}${instancePath}`
  const { 'x-expected': expected, properties = {} } = parentSchema as { 'x-expected'?: string; properties?: object }
  switch (keyword) {
    case 'required':
      return { path: `${path}/${params.missingProperty}`, message: 'is required' }
    case 'additionalProperties':
      return { path: `${path}/${params.additionalProperty}`, message: unknownProperty(Object.keys(properties)) }
    case 'const':
      return { path, message: oneOf([params.allowedValue]) }
    case 'enum':
      return { path, message: oneOf(params.allowedValues) }
    case 'type':
      return { path, message: ofTypes([params.type].flat()) }
    case 'pattern':
    case 'format':
      return { path, message: expected ? `must be ${expected}` : (message ?? 'is invalid') }
    default:
      return { path, message: message ?? 'is invalid' }
  }
}

/**
 * The violations of the alternative that the caller most likely meant: its constants match (`type: "vault"`), then fewest
 * violations. One violation, when no alternative has the type of the value or its constant. `branches`: the violations of each
 * alternative.
 */
export function expectedBranch(branches: ErrorObject[][]): ErrorObject[] | Detail {
  const typed = branches.filter((errors) => !errors.some(isOfWholeType))
  if (typed.length === 0) return { path: '', message: ofTypes(branches.flatMap(wholeTypes)) }
  const tagged = typed.filter((errors) => !errors.some(isTag))
  if (tagged.length > 0) return tagged.reduce((best, errors) => (errors.length < best.length ? errors : best))
  const tags = typed.flatMap((errors) => errors.filter(isTag))
  return { path: tags.map(tagPath)[0] ?? '', message: oneOf(tags.map(tagValue)) }
}

const isOfWholeType = ({ keyword, instancePath }: ErrorObject): boolean => keyword === 'type' && instancePath === ''

/** A property with a constant that distinguishes the alternatives is missing or has another value. */
const isTag = (error: ErrorObject): boolean => tagValue(error) !== undefined && /^\/[^/]+$/.test(tagPath(error))
const tagPath = ({ instancePath, params: { missingProperty } }: ErrorObject): string =>
  missingProperty === undefined ? instancePath : `${instancePath}/${missingProperty}`
const tagValue = ({ keyword, params, parentSchema }: ErrorObject): unknown =>
  keyword === 'const' ? params.allowedValue : parentSchema?.properties?.[params.missingProperty]?.const

const wholeTypes = (errors: ErrorObject[]): string[] =>
  errors.filter(isOfWholeType).flatMap(({ params }) => params.type)

const unknownProperty = (known: string[]): string =>
  known.length > 0 && known.length <= maxNames
    ? `is not a known property; known: ${known.join(', ')}`
    : 'is not a known property'

function oneOf(values: unknown[]): string {
  const shown = [...new Set(values)].map((value) => JSON.stringify(value))
  return shown.length === 1 ? `must be ${shown[0]}` : `must be one of ${shown.join(', ')}`
}

const articles: Record<string, string> = { array: 'an array', integer: 'an integer', null: 'null', object: 'an object' }

const ofTypes = (types: string[]): string =>
  `must be ${[...new Set(types)].map((type) => articles[type] ?? `a ${type}`).join(' or ')}`
