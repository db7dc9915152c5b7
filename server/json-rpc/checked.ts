import type { components } from '../../generated/openapi.ts'
import type { ContractDocument } from '../http/document.ts'
import { schemaCheck } from '../http/schema-check.ts'
import { inTheirNames, invalidParams } from './errors.ts'

type Schemas = components['schemas']

/**
 * A parameter as the contract's schema has it. What callers send is `unknown`, and this is the only way from there to an operation.
 * Throws JsonRpcError (-32602).
 */
export function checked<Name extends keyof Schemas>(
  contract: ContractDocument,
  name: Name,
  given: unknown,
  tell: (fault: string) => string = inTheirNames,
): Schemas[Name] {
  const fault = schemaCheck(contract, name)(given)
  if (fault !== undefined) throw invalidParams(tell(fault))
  return given as Schemas[Name]
}
