import type { ContractDocument } from './document.ts'
import type { Detail } from './errors.ts'
import { contractAjv, type ErrorObject, type ValidateFunction } from './schema-check.ts'
import { expectedBranch, violationText } from './violation.ts'

/** Returns the violations of a body, with JSON pointers that begin with `/body`; empty when it finds none. */
export type BodyViolations = (body: unknown) => Detail[]

/**
 * Describes the violations of a body that the validator refused. The validator reports the violations of every alternative of an
 * `anyOf`; this reports those of the alternative that the caller most likely meant. Schemas are compiled at their first use.
 */
export function createBodyViolations({ components }: ContractDocument): (schema: object) => BodyViolations {
  const ajv = contractAjv({ allErrors: true, verbose: true, validateSchema: false })
  // Within one document, schemas share the compiled targets of their references: each compiles in a few milliseconds.
  ajv.addSchema({ components }, 'contract')
  const inline = new WeakMap<object, ValidateFunction>()
  const places = pointersIn(components.schemas, '#/components/schemas')
  const pointers = new Map(places)
  const targets = new Map(places.map(([schema, pointer]) => [pointer, schema as Choice]))

  function errorsOf(schema: object, value: unknown): ErrorObject[] {
    const pointer = (schema as { $ref?: string }).$ref ?? pointers.get(schema)
    const check = pointer === undefined ? ofInline(schema) : ajv.getSchema(`contract${pointer}`)
    if (!check) throw new Error(`The contract has no schema ${pointer}`)
    check(value)
    return check.errors ?? []
  }

  /** The check of a schema that is written inline in an operation, not a component of the contract. */
  function ofInline(schema: object): ValidateFunction {
    const check = inline.get(schema) ?? ajv.compile({ ...schema, components })
    inline.set(schema, check)
    return check
  }

  function violations(errors: ErrorObject[], at: string): Detail[] {
    // Ajv reports a choice after the choices within it.
    const outermost = errors
      .filter(isChoice)
      .reverse()
      .filter((choice, index, reversed) => !reversed.slice(0, index).some((other) => covers(other, choice)))
    const others = errors.filter((error) => !outermost.some((choice) => covers(choice, error)))
    return [
      ...others.map((error) => violationText(error, at)),
      ...outermost.flatMap((choice) => ofChoice(choice, `${at}${choice.instancePath}`)),
    ]
  }

  /** A choice that is an alternative itself counts as its alternatives. */
  function alternatives(schema: Choice): Choice[] {
    const { anyOf, oneOf } = targets.get(schema.$ref ?? '') ?? schema
    return (anyOf ?? oneOf)?.flatMap(alternatives) ?? [schema]
  }

  function ofChoice({ schema, data }: ErrorObject, at: string): Detail[] {
    const branch = expectedBranch((schema as Choice[]).flatMap(alternatives).map((each) => errorsOf(each, data)))
    return Array.isArray(branch) ? violations(branch, at) : [{ path: `${at}${branch.path}`, message: branch.message }]
  }

  return (schema) => (body) => violations(errorsOf(schema, body), '/body')
}

type Choice = { $ref?: string; anyOf?: Choice[]; oneOf?: Choice[] }

const isChoice = ({ keyword }: ErrorObject): boolean => keyword === 'anyOf' || keyword === 'oneOf'

/** Whether the second violation is at or below the value of the first. */
const covers = (outer: ErrorObject, inner: ErrorObject): boolean =>
  inner.instancePath === outer.instancePath || inner.instancePath.startsWith(`${outer.instancePath}/`)

/** The JSON pointers of the alternatives inside other schemas. */
function pointersIn(node: unknown, at: string): [object, string][] {
  if (typeof node !== 'object' || node === null) return []
  return [[node, at], ...Object.entries(node).flatMap(([key, child]) => pointersIn(child, `${at}/${encode(key)}`))]
}

/** As a part of a JSON pointer (RFC 6901) in a URI fragment. */
const encode = (key: string): string => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))
