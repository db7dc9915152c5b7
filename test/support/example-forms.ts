import { contract, operations, resolve } from './contract.ts'

/** The kinds of the values at each place of some answers: `data[].hash` → string, null. */
type Form = Map<string, Set<string>>

const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** Adds what stands at each place of a value. Items of a list share a place. */
function addForm(form: Form, value: unknown, place = ''): Form {
  const kinds = form.get(place) ?? new Set()
  form.set(place, kinds.add(kindOf(value)))
  if (Array.isArray(value)) for (const item of value) addForm(form, item, `${place}[]`)
  else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) addForm(form, inner, `${place}.${name}`)
  return form
}

interface Sent {
  responses: Record<string, Response | { $ref: string }>
}

interface Response {
  content?: Record<string, { examples?: Record<string, { value: unknown }> }>
}

/** The examples of successes, by the response that they stand in, with the operations that send it. */
export function successExamples() {
  const found = new Map<Response, { ids: string[]; examples: [name: string, value: unknown][] }>()
  for (const { id, path, method } of operations) {
    const { responses, ...its } = (contract.paths[path] as Record<string, object>)[method.toLowerCase()] as Sent
    // JSON-RPC answers a result or an error.
    if ('x-json-rpc' in its) continue
    for (const [status, response] of Object.entries(responses)) {
      if (!status.startsWith('2')) continue
      const resolved = resolve<Response>(response)
      const examples = Object.entries(resolved.content?.['application/json']?.examples ?? {})
      const its = found.get(resolved) ?? { ids: [], examples: examples.map(([name, { value }]) => [name, value]) }
      its.ids.push(id)
      found.set(resolved, its)
    }
  }
  return [...found.values()]
}

/** What an example has that no answer of its operations has, and what all of them have and it lacks. `answers`: by operation. */
export function exampleFaults(answers: ReadonlyMap<string, unknown>): string[] {
  return successExamples().flatMap(({ ids, examples }) => {
    const received = ids.flatMap((id) => (answers.has(id) ? [addForm(new Map(), answers.get(id))] : []))
    if (received.length === 0) return []
    const all: Form = new Map()
    for (const form of received)
      for (const [place, kinds] of form) all.set(place, new Set([...(all.get(place) ?? []), ...kinds]))
    return examples.flatMap(([name, value]) => {
      const form = addForm(new Map(), value)
      const at = (place: string) => `${ids[0]}, ${name}: ${place}`
      const wrong = [...form].filter(([place, kinds]) => {
        const known = all.get(place)
        return known
          ? [...kinds].some((kind) => kind !== 'null' && !known.has(kind) && !isNull(known))
          : !isBelowNull(place, all)
      })
      const lacking = [...all.keys()].filter(
        (place) =>
          received.every((its) => its.has(place)) &&
          !form.has(place) &&
          !isBelowNull(place, form) &&
          // What is in force is not the same everywhere.
          !place.includes('.policies.'),
      )
      return [
        ...wrong.map(([place]) => `${at(place)} is not received`),
        ...lacking.map((place) => `${at(place)} is missing`),
      ]
    })
  })
}

const isNull = (kinds: ReadonlySet<string>) => kinds.size === 1 && kinds.has('null')

/** Below a place that is null or empty nothing is known. */
function isBelowNull(place: string, form: Form): boolean {
  const above = place.replace(/(?:\[\]|\.[^.[]+)$/, '')
  if (above === place) return false
  const kinds = form.get(above)
  return kinds === undefined ? isBelowNull(above, form) : isNull(kinds) || (place.endsWith('[]') && kinds.has('array'))
}
