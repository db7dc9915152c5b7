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

/** The answer to it (400): every place that breaks the contract, and how. */
export const requestViolation = ({ errors }: Violation): ApiError =>
  new ApiError('bad_request', 'Bad Request', errors.slice(0, max_details).map(detailOf))

function detailOf({ path, message = 'is wrong', errorCode = '' }: Violation['errors'][number]): Detail {
  const isUnknownName = /^(?:additional|unevaluated)Properties\b/.test(errorCode)
  const place = isUnknownName ? withoutUnknownName(path) : path
  return {
    path: place.replace(/^\/params/, '/path').slice(0, max_characters),
    message: message.slice(0, max_characters),
  }
}

const word = /^[A-Za-z_]{1,31}(?:\[\w{0,9}\])?$/

/**
 * A name that the contract does not know is shown when it is a word, as a typing error is. A key or a token that was put in the place
 * of a name stays out of the answer and of everything that keeps answers.
 */
export const shownName = (name: string): string => (word.test(name) ? name : '*')

/** The name is the end of the path, and may hold slashes itself. */
function withoutUnknownName(path: string): string {
  const [, root = '', ...names] = path.split('/')
  const shown = names.map((name) => (/^\d{1,6}$/.test(name) ? name : shownName(name)))
  return shown.includes('*') ? `/${[root, ...shown.slice(0, shown.indexOf('*') + 1)].join('/')}` : path
}
