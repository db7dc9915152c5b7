// Ajv's documented entry for JSON Schema draft 2020-12, which OpenAPI 3.1 uses; its package has no `exports`.
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { ContractDocument } from './document.ts'
import { isTime } from './time-format.ts'

/** Returns a check against a schema of the contract. The check returns a description of the violations, or undefined. */
export function schemaCheck(document: ContractDocument, name: string): (value: unknown) => string | undefined {
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv, { mode: 'full' })
  ajv.addFormat('date-time', { type: 'string', validate: isTime })
  const check = ajv.compile({ $ref: `#/components/schemas/${name}`, components: document.components })
  return (value) => (check(value) ? undefined : ajv.errorsText(check.errors, { dataVar: '' }))
}

/** Checks bodies against schemas of the contract, each of which is compiled at its first use. */
export function bodyFaults(document: ContractDocument): (name: string, body: unknown) => string | undefined {
  const checks = new Map<string, ReturnType<typeof schemaCheck>>()
  return (name, body) => {
    const check = checks.get(name) ?? schemaCheck(document, name)
    checks.set(name, check)
    return check(body)
  }
}

/** The methods that the contract allows callers to ask a node for. */
export function readableMethods({ components }: ContractDocument): ReadonlySet<string> {
  const request = components.schemas.RpcRequest as { properties: { method: { enum: string[] } } }
  return new Set(request.properties.method.enum)
}
