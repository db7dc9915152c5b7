import { ApiError, type Detail } from '../errors.ts'

/** A request that breaks the contract, as express-openapi-validator throws it. */
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

/** The answer to it (400): every place that breaks the contract, and how. `names`: those that the contract gives. */
export function requestViolation({ errors }: Violation, names: ReadonlySet<string>): ApiError {
  const details = new Map<string, Detail>()
  for (const { path, message = 'is wrong' } of errors) {
    const shown = shownPath(path, names).slice(0, max_characters)
    // Of several that are wrong with one value the first is told.
    if (!details.has(shown)) details.set(shown, { path: shown, message: message.slice(0, max_characters) })
    if (details.size >= max_details) break
  }
  return new ApiError('invalid_request', 'Bad Request', [...details.values()])
}

const word = /^[A-Za-z_]{1,31}(?:\[\w{0,9}\])?$/

/**
 * A name that the contract does not know is shown when it is a word, as a typing error is. A key or a token that was put in the place
 * of a name stays out of the answer and of everything that keeps answers.
 */
export const redactName = (name: string): string => (word.test(name) ? name : '*')

/** Names of the caller's may stand anywhere in a path, and hold slashes themselves. */
function shownPath(path: string, names: ReadonlySet<string>): string {
  const [, root = '', ...segments] = path.split('/')
  const shown = segments.map((name) => (names.has(name) || /^\d{1,6}$/.test(name) ? name : redactName(name)))
  const end = shown.indexOf('*')
  return ['', root === 'params' ? 'path' : root, ...(end < 0 ? shown : shown.slice(0, end + 1))].join('/')
}
