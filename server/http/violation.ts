import { ApiError, type Detail } from '../core/errors.ts'

/** A request that violates the contract, as express-openapi-validator throws it. */
export interface Violation {
  status: number
  message: string
  errors: { path: string; message?: string; errorCode?: string }[]
}

const max_details = 20
const max_characters = 1_000

export const isViolation = (error: unknown): error is Violation =>
  error instanceof Error &&
  (error as Partial<Violation>).status === 400 &&
  Array.isArray((error as Partial<Violation>).errors)

/** A body with more violations is not described by itself, which bounds the work. */
const max_violations = 200

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
    const shown = shownPath(path, names).slice(0, max_characters)
    // One violation per value, the first, is reported.
    if (!details.has(shown)) details.set(shown, { path: shown, message: message.slice(0, max_characters) })
    if (details.size >= max_details) break
  }
  return new ApiError('invalid_request', 'Bad Request', [...details.values()])
}

function described(errors: Violation['errors'], ofBody: () => Detail[] | undefined): Violation['errors'] {
  const elsewhere = errors.filter(({ path }) => !/^\/body(?:\/|$)/.test(path))
  if (elsewhere.length === errors.length || errors.length > max_violations) return errors
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
