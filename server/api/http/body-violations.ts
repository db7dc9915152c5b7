import type { ContractDocument } from './document.ts'
import type { Detail } from './errors.ts'
import { contractAjv, type ErrorObject, type ValidateFunction } from './schema-check.ts'
import { expectedBranch, violationText } from './violation.ts'

/**
 * Describes the violations of a body that the validator refused. The validator reports the violations of every alternative of an
 * `anyOf`; this reports those of the alternative that the caller most likely meant. Schemas are compiled at their first use.
 */
export class BodyViolations {
  readonly #x: ContractDocument
  readonly #ajv = contractAjv({ allErrors: true, verbose: true, validateSchema: false })
  readonly #inline = new WeakMap<object, ValidateFunction>()
  readonly #places: [object, string][]
  readonly #pointers: Map<object, string>
  readonly #targets: Map<string, Choice>

  constructor(x: ContractDocument) {
    this.#x = x
    this.#ajv.addSchema({ components: this.#x.components }, 'contract')
    this.#places = pointersIn(this.#x.components.schemas, '#/components/schemas')
    this.#pointers = new Map(this.#places)
    this.#targets = new Map(this.#places.map(([schema, pointer]) => [pointer, schema as Choice]))
  }

  /** Of a body with this schema, with JSON pointers that begin with `/body`; empty when it finds none. */
  of(schema: object, body: unknown): Detail[] {
    return this.#violations(this.#errorsOf(schema, body), '/body')
  }

  #errorsOf(schema: object, value: unknown): ErrorObject[] {
    const pointer = (schema as { $ref?: string }).$ref ?? this.#pointers.get(schema)
    const check = pointer === undefined ? this.#ofInline(schema) : this.#ajv.getSchema(`contract${pointer}`)
    if (!check) throw new Error(`The contract has no schema ${pointer}`)
    check(value)
    return check.errors ?? []
  }

  /** The check of a schema that is written inline in an operation, not a component of the contract. */
  #ofInline(schema: object): ValidateFunction {
    const check = this.#inline.get(schema) ?? this.#ajv.compile({ ...schema, components: this.#x.components })
    this.#inline.set(schema, check)
    return check
  }

  #violations(errors: ErrorObject[], at: string): Detail[] {
    // Ajv reports a choice after the choices within it.
    const outermost = errors
      .filter(isChoice)
      .reverse()
      .filter((choice, index, reversed) => !reversed.slice(0, index).some((other) => covers(other, choice)))
    const others = errors.filter((error) => !outermost.some((choice) => covers(choice, error)))
    return [
      ...others.map((error) => violationText(error, at)),
      ...outermost.flatMap((choice) => this.#ofChoice(choice, `${at}${choice.instancePath}`)),
    ]
  }

  /** A choice that is an alternative itself counts as its alternatives. */
  #alternatives(schema: Choice): Choice[] {
    const { anyOf, oneOf } = this.#targets.get(schema.$ref ?? '') ?? schema
    return (anyOf ?? oneOf)?.flatMap((schema) => this.#alternatives(schema)) ?? [schema]
  }

  #ofChoice({ schema, data }: ErrorObject, at: string): Detail[] {
    const branch = expectedBranch(
      (schema as Choice[]).flatMap((schema) => this.#alternatives(schema)).map((each) => this.#errorsOf(each, data)),
    )
    return Array.isArray(branch)
      ? this.#violations(branch, at)
      : [{ path: `${at}${branch.path}`, message: branch.message }]
  }
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
