/** The places in a body where its schema declares an amount (the contract's AmountInput). */
export interface AmountPlaces {
  isAmount: boolean
  properties: Map<string, AmountPlaces>
  items: AmountPlaces | undefined
}

interface Schema {
  $ref?: string
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  properties?: Record<string, Schema>
  items?: Schema
}

const max_depth = 30
const amount = 'AmountInput'

/**
 * `bodies`: the schemas of an operation's body; `schemas`: those of the contract, by name. Throws when a schema contains itself.
 */
export function amountPlaces(bodies: Schema[], schemas: Record<string, Schema>): AmountPlaces {
  const places = noPlaces()
  for (const body of bodies) collect(body, schemas, places, 0)
  return places
}

const noPlaces = (): AmountPlaces => ({ isAmount: false, properties: new Map(), items: undefined })

function collect(schema: Schema, schemas: Record<string, Schema>, into: AmountPlaces, depth: number): void {
  if (depth > max_depth) throw new Error('A schema of a request body is nested too deep or contains itself')
  const name = /^#\/components\/schemas\/([\w.-]+)$/.exec(schema.$ref ?? '')?.[1]
  if (name === amount) into.isAmount = true
  else if (name !== undefined) collect(schemas[name] as Schema, schemas, into, depth + 1)
  for (const branches of [schema.anyOf, schema.oneOf, schema.allOf]) {
    for (const branch of branches ?? []) collect(branch, schemas, into, depth + 1)
  }
  for (const [property, its] of Object.entries(schema.properties ?? {})) {
    const place = into.properties.get(property) ?? noPlaces()
    into.properties.set(property, place)
    collect(its, schemas, place, depth + 1)
  }
  if (schema.items) {
    into.items ??= noPlaces()
    collect(schema.items, schemas, into.items, depth + 1)
  }
}
