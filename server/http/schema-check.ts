import { contractAjv } from './contract-ajv.ts'
import type { ContractDocument } from './document.ts'

/** Returns a description of the violations, or undefined. */
export type SchemaCheck = (value: unknown) => string | undefined

/** Compiling takes tens of milliseconds, so the services of a process that share a document share its checks. */
const compiled = new WeakMap<ContractDocument, Map<string, SchemaCheck>>()

/** Returns a check against a schema of the contract, which is compiled once for each document. */
export function schemaCheck(document: ContractDocument, name: string): SchemaCheck {
  const checks = compiled.get(document) ?? new Map<string, SchemaCheck>()
  compiled.set(document, checks)
  const check = checks.get(name) ?? compile(document, name)
  checks.set(name, check)
  return check
}

function compile(document: ContractDocument, name: string): SchemaCheck {
  const ajv = contractAjv()
  const check = ajv.compile({ $ref: `#/components/schemas/${name}`, components: document.components })
  return (value) => (check(value) ? undefined : ajv.errorsText(check.errors, { dataVar: '' }))
}

/** The methods that the contract allows callers to ask a node for. */
export function readableMethods({ components }: ContractDocument): ReadonlySet<string> {
  const request = components.schemas.RpcRequest as { properties: { method: { enum: string[] } } }
  return new Set(request.properties.method.enum)
}
