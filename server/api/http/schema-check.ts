import type { Options } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { ContractDocument } from './document.ts'

const time =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i

/**
 * Whether a text is an RFC 3339 time. Leap seconds are refused, because JavaScript's clock has none. Ajv's check also accepts a
 * space or a line break in place of the T, and +0100 in place of +01:00.
 */
export function isTime(text: string): boolean {
  if (!time.test(text)) return false
  const day = Number(text.slice(8, 10))
  return day <= 28 || day <= daysIn(Number(text.slice(0, 4)), Number(text.slice(5, 7)))
}

/** The last day of a month is the day before the first of the next. */
function daysIn(year: number, month: number): number {
  const last = new Date(0)
  last.setUTCFullYear(year, month, 0)
  return last.getUTCDate()
}

// Ajv's documented entry for JSON Schema draft 2020-12, which OpenAPI 3.1 uses; its package has no `exports`.

export type { ErrorObject, ValidateFunction } from 'ajv'

/** Ajv with the formats of the contract. */
export function contractAjv(options: Options = {}): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, ...options })
  addFormats.default(ajv, { mode: 'full' })
  ajv.addFormat('date-time', { type: 'string', validate: isTime })
  return ajv
}

/** Returns a description of the violations, or undefined. */
type SchemaCheck = (value: unknown) => string | undefined

/** Compiling takes tens of milliseconds, so the services of a process that share a document share its checks. */
const compiled = new WeakMap<ContractDocument, Map<string, SchemaCheck>>()

/** Returns a check against a schema of the contract, which is compiled once for each document, when it is used first. */
export const schemaCheck =
  (document: ContractDocument, name: string): SchemaCheck =>
  (value) =>
    compiledCheck(document, name)(value)

/** Compiles it now. */
export function compiledCheck(document: ContractDocument, name: string): SchemaCheck {
  const checks = compiled.get(document) ?? new Map<string, SchemaCheck>()
  compiled.set(document, checks)
  const check = checks.get(name) ?? compile(document, name)
  checks.set(name, check)
  return check
}

function compile(document: ContractDocument, name: string): SchemaCheck {
  // The lint of the contract has checked the schemas.
  const ajv = contractAjv({ validateSchema: false })
  const check = ajv.compile({ $ref: `#/components/schemas/${name}`, components: document.components })
  return (value) => (check(value) ? undefined : ajv.errorsText(check.errors, { dataVar: '' }))
}
