import { type ContractDocument, operationsOf, successesOf } from './document.ts'

/**
 * A copy of the contract in which each object has only the members that it declares, unless it permits others, and each value is one that
 * it declares. The published schemas of responses are open, so that a later member or value breaks no client. The server checks by this
 * copy, so that nothing undeclared leaves it.
 * Throws for `allOf`: its parts cannot be closed, and generated clients lose which of their members may be null.
 */
export const closeObjects = <T extends object>(document: T): T => close(document) as T

/** `isNames`: the node's keys are names of properties, one of which may be `example`. */
function close(node: unknown, isNames = false): unknown {
  if (Array.isArray(node)) return node.map((child) => close(child))
  if (typeof node !== 'object' || node === null) return node
  if ('allOf' in node && !isNames) throw new Error('A schema of the contract has allOf')
  const closed = Object.fromEntries(
    Object.entries(isNames ? node : ofThisVersion(node)).map(([key, child]) => {
      if (examples.has(key) && !isNames) return [key, child]
      return [key, close(child, !isNames && key === 'properties')]
    }),
  )
  return 'properties' in closed && !isNames ? { additionalProperties: false, ...closed } : closed
}

const examples: ReadonlySet<string> = new Set(['example', 'examples'])

/** What the published contract leaves open, because a later version adds to it, or does not promise. */
interface Open {
  description?: string
  /** The values of an answer. */
  'x-extensible-enum'?: unknown[]
  /** The schemas of an object, by the value of one of its members. */
  'x-extensible-one-of'?: { propertyName: string; mapping: Record<string, { $ref: string }> }
  /** What the service takes beside what it promises: the clients of others send it. */
  'x-also-accepted'?: object
}

/** The schema as this version of the service has it. Other nodes stay as they are. */
export function ofThisVersion(node: object): object {
  const { 'x-extensible-enum': values, 'x-extensible-one-of': types, 'x-also-accepted': also, ...schema } = node as Open
  const { description } = schema
  if (types) {
    const mapping = Object.entries(types.mapping).map(([value, { $ref }]) => [value, $ref])
    return {
      description,
      oneOf: Object.values(types.mapping),
      discriminator: { ...types, mapping: Object.fromEntries(mapping) },
    }
  }
  if (also) return { description, anyOf: [schema, also] }
  return values ? { ...schema, enum: values } : node
}

/**
 * A copy of the contract for the validator, without prose. References are resolved: the validator compiles every schema that is
 * referred to when it reads the document. `failures`: whether failures are validated, by `default`, because they have one schema.
 * Otherwise the success is `default`: for each of 200 checks Ajv walks through the whole document, except what is below a `default`.
 * Together that takes two fifths of the time until all checks are compiled.
 */
export function validatorDocument(document: ContractDocument, { failures }: { failures: boolean }): ContractDocument {
  const {
    paths,
    components,
    webhooks: _,
    ...rest
  } = withoutProse(document) as ContractDocument & { webhooks?: unknown }
  const resolved = { ...rest, paths: resolveReferences(paths, { components }), components: {} } as ContractDocument
  for (const { operation, shared } of operationsOf(resolved)) {
    const { responses, parameters = [] } = operation
    const successes = successesOf(operation)
    const success = responses[successes[0]]
    operation.responses = failures
      ? { ...Object.fromEntries(successes.map((status) => [status, success])), default: responses.default }
      : { default: success }
    // Query values are percent-decoded already, so reserved characters have no meaning in them.
    for (const parameter of [...shared, ...parameters]) {
      if (parameter.in === 'query') Object.assign(parameter, { allowReserved: true })
    }
  }
  return resolved
}

/** Schemas that are referred to more than once are shared. Throws when one contains itself, or has keywords beside a reference. */
function resolveReferences(part: unknown, document: object): unknown {
  const known = new Map<string, unknown>()

  const resolve = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(resolve)
    if (typeof node !== 'object' || node === null) return node
    const { $ref, ...others } = node as { $ref?: unknown }
    if (typeof $ref === 'string') {
      if (Object.keys(others).length > 0)
        throw new Error(`Keywords beside the reference to ${$ref} would have no effect`)
      return target($ref)
    }
    const resolved = Object.fromEntries(Object.entries(node).map(([key, child]) => [key, resolve(child)]))
    return isTimeSchema(resolved) ? { ...resolved, type: [resolved.type] } : resolved
  }
  const target = (Ref: string): unknown => {
    if (!known.has(Ref)) {
      known.set(Ref, unfinished)
      known.set(Ref, resolve(lookUp(Ref, document)))
    }
    const found = known.get(Ref)
    if (found === unfinished) throw new Error(`${Ref} in the contract contains itself`)
    return found
  }
  return resolve(part)
}

/**
 * Where the type is one name, the validator turns times of responses from Date to text. They are text here, and the check that it adds for
 * it keeps all that Ajv made while it compiled: 7 MB.
 */
const isTimeSchema = ({ type, format }: { type?: unknown; format?: unknown }) =>
  type === 'string' && format === 'date-time'

const unfinished = Symbol('unfinished')

function lookUp(Ref: string, document: object): unknown {
  const [, ...names] = Ref.split('/')
  let node: unknown = document
  for (const name of names) node = (node as Record<string, unknown> | undefined)?.[name]
  if (node === undefined) throw new Error(`The contract has no ${Ref}`)
  return node
}

const prose: ReadonlySet<string> = new Set([
  'discriminator',
  'writeOnly',
  'description',
  'summary',
  'example',
  'examples',
  'x-codeSamples',
  'x-expected',
])

/** `isNames`: the node's keys are names of properties, one of which may be `description`. */
function withoutProse(node: unknown, isNames = false): unknown {
  if (Array.isArray(node)) return node.map((child) => withoutProse(child))
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(
    Object.entries(node)
      .filter(([key]) => isNames || !prose.has(key))
      .map(([key, child]) => [key, withoutProse(child, !isNames && key === 'properties')]),
  )
}

/** Where the validator keeps a compiled check. */
interface CheckKey {
  method: string
  expressRoute: string
}

/**
 * The validator finds a compiled check by method and path. Operations with equal schemas give it the method and path of the first of
 * them, so that they share its check: a third of all checks need not be compiled.
 */
export class SharedKeys {
  readonly #keys = new Map<string, CheckKey>()

  /** The key of the first operation with equal schemas; `own` when this operation is the first. */
  of(schemas: unknown, own: CheckKey): CheckKey {
    const text = JSON.stringify(schemas)
    const key = this.#keys.get(text) ?? own
    this.#keys.set(text, key)
    return key
  }
}
