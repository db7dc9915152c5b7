import { badRequest } from '../errors.ts'
import { redactName } from './violation.ts'

export interface Parameter {
  $ref?: string
  name: string
  in: string
  schema?: { type?: string | string[] }
}

/** Reads a raw query string (without `?`) into what the validator checks. Throws ApiError (400). */
export type QueryReader = (search: string) => Record<string, unknown>

const max_pairs = 100

/** Reads the headers that an operation declares, under the contract's names. */
export function headerReader(parameters: Parameter[]) {
  const names = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name)
  return (headers: Record<string, unknown>): Record<string, unknown> =>
    Object.fromEntries(names.map((name) => [name, headers[name.toLowerCase()]]))
}

/**
 * Strict where the validator is lenient (it reads 1e2 and 0x10 as integers): an integer is decimal digits, a name is one of
 * the contract's, a value is not empty, and only a list may be given more than once.
 */
export function queryReader(parameters: Parameter[]): QueryReader {
  const kinds = new Map(
    parameters.filter((parameter) => parameter.in === 'query').map(({ name, schema }) => [name, schema?.type]),
  )

  return (search) => {
    const query: Record<string, unknown> = {}
    if (search === '') return query
    let pairs = 0
    for (const [name, value] of new URLSearchParams(search)) {
      pairs += 1
      if (pairs > max_pairs) throw badRequest('/query', `must have at most ${max_pairs} parameters`)
      if (!kinds.has(name)) throw badRequest(`/query/${redactName(name)}`, 'is unknown')
      if (value === '') throw badRequest(`/query/${name}`, 'must not be empty')
      const kind = kinds.get(name)
      if (kind === 'array') {
        query[name] = [...((query[name] as string[] | undefined) ?? []), value]
        continue
      }
      if (Object.hasOwn(query, name)) throw badRequest(`/query/${name}`, 'must be given once')
      if (kind === 'integer' && !/^[0-9]{1,16}$/.test(value)) {
        throw badRequest(`/query/${name}`, 'must be decimal digits')
      }
      query[name] = kind === 'integer' ? Number(value) : value
    }
    return query
  }
}
