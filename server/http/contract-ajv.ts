import type { Options } from 'ajv'
// Ajv's documented entry for JSON Schema draft 2020-12, which OpenAPI 3.1 uses; its package has no `exports`.
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { isTime } from './time-format.ts'

export type { ErrorObject, ValidateFunction } from 'ajv'

/** Ajv with the formats of the contract. */
export function contractAjv(options: Options = {}): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, ...options })
  addFormats.default(ajv, { mode: 'full' })
  ajv.addFormat('date-time', { type: 'string', validate: isTime })
  return ajv
}
