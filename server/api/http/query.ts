import { errorOf } from '../../domain/errors.ts'
import type { Caller, Idempotency } from '../../domain/operation.ts'
import type { IfMatch } from '../../domain/revision.ts'
import type { Parameter } from './document.ts'
import { badRequestAt } from './errors.ts'
import { redactName } from './violation.ts'

/** Parses a raw query string (without `?`) into the form that the validator checks. Throws DomainError (400). */
type QueryReader = (search: string) => Record<string, unknown>

const maxPairs = 100

/** Reads the headers that an operation declares, under the contract's names. */
export function headerReader(parameters: Parameter[]) {
  const names = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name)
  return (headers: Record<string, unknown>): Record<string, unknown> =>
    Object.fromEntries(names.map((name) => [name, headers[name.toLowerCase()]]))
}

/**
 * Stricter than the validator, which accepts 1e2 and 0x10 as integers: an integer has decimal digits only, a name is in the
 * contract, a value is not empty, and only a list may be given more than once.
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
      if (pairs > maxPairs) throw badRequestAt('/query', `must have at most ${maxPairs} parameters`)
      if (!kinds.has(name))
        throw badRequestAt(`/query/${redactName(name)}`, `is not a parameter of this operation${listed(kinds)}`)
      if (value === '') throw badRequestAt(`/query/${name}`, 'must not be empty')
      const kind = kinds.get(name)
      if (kind === 'array') {
        query[name] = [...((query[name] as string[] | undefined) ?? []), value]
        continue
      }
      if (Object.hasOwn(query, name)) throw badRequestAt(`/query/${name}`, 'must be given only once')
      if (kind === 'integer' && !/^[0-9]{1,16}$/.test(value)) {
        throw badRequestAt(`/query/${name}`, 'must be a decimal integer, for example 10')
      }
      query[name] = kind === 'integer' ? Number(value) : value
    }
    return query
  }
}

const listed = (kinds: ReadonlyMap<string, unknown>): string =>
  kinds.size === 0 ? ', which has none' : `, which has: ${[...kinds.keys()].join(', ')}`

/** Reads the header If-Match, whose form the contract has checked: `*`, or revisions in double quotes or without. */
export function readIfMatch(text: string | undefined): IfMatch | undefined {
  if (text === undefined || text === '*') return text
  return [...text.matchAll(/(?:W\/)?"?([\w-]+)"?/g)].map(([, revision]) => revision as string)
}

/** Reads the header Idempotency-Key. Throws DomainError (400). */
export function readIdempotency(text: string | undefined, { id }: Caller): Idempotency | undefined {
  if (text === undefined) return undefined
  // A structured field's string (in quotes), or bare.
  const key = text.startsWith('"') ? text.slice(1, -1) : text
  if (key === '') throw errorOf('invalid_request', 'idempotency_key', 'must not be empty')
  return { caller: id, key }
}
