import { expect, test } from 'vitest'
import {
  type ContractOperation,
  operations,
  type Parameter,
  parameterFault,
  parametersIn,
  requestFault,
  resolve,
  type Schema,
} from '../../support/contract.ts'
import { startTestService } from '../../support/service.ts'

// Every clause of the contract about requests holds at run time: the server refuses one request outside of it, and names the place.
// What is inside of all clauses at once, the examples, succeeds in test/client/samples.test.ts; statuses and headers of answers are
// compared in every test (test/support/declared-responses.ts).

/** A clause of a place in the body (`at`) or of a parameter, and values outside of it. */
interface Clause {
  keyword: string
  outside: unknown[]
}

const long = (length: unknown) => 'a'.repeat(Number(length) + 1)
const absent = Symbol('absent')

/** The clauses of one value; of its members, `membersOf` knows. */
function clausesOf(schema: Schema): Clause[] {
  const { type, pattern, minLength, maxLength, minimum, maximum, minItems, maxItems } = schema
  const clause = (keyword: string, ...outside: unknown[]) => (keyword in schema ? [{ keyword, outside }] : [])
  const item = (schema.items as { example?: unknown } | undefined)?.example ?? 'a'
  return [
    ...(type === undefined ? [] : [{ keyword: 'type', outside: [true, [[]], { '?': 1 }, 1.5] }]),
    ...clause('enum', '?', 987_654_321),
    ...clause('const', '?'),
    ...(pattern === undefined ? [] : [{ keyword: 'pattern', outside: ['\u0007', '?', 'a b', 'whsec_?'] }]),
    ...(Number(minLength) > 0 ? clause('minLength', '') : []),
    ...(Number(maxLength) < 100_000 ? clause('maxLength', long(maxLength)) : []),
    ...clause('minimum', Number(minimum) - 1),
    ...clause('maximum', Number(maximum) < Number.MAX_SAFE_INTEGER ? Number(maximum) + 1 : 2 ** 60),
    ...(Number(minItems) > 0 ? clause('minItems', []) : []),
    ...(Number(maxItems) < 5_000
      ? clause(
          'maxItems',
          Array.from({ length: Number(maxItems) + 1 }, () => item),
        )
      : []),
  ]
}

type Place = (string | number)[]

/** The places of a value below a schema, with their clauses; alternatives share a place. */
function placesIn(given: unknown, value: unknown, at: Place = []): [at: Place, Clause][] {
  const schema = resolve(given as Schema)
  const branches = ['anyOf', 'oneOf'].flatMap((name) => (schema[name] as unknown[] | undefined) ?? [])
  const here = [...clausesOf(schema).map((clause): [Place, Clause] => [at, clause])]
  for (const branch of branches) here.push(...placesIn(branch, value, at))
  if (typeof value !== 'object' || value === null) return here
  const {
    properties = {},
    required = [],
    additionalProperties,
    items,
  } = schema as {
    properties?: Record<string, unknown>
    required?: string[]
    additionalProperties?: unknown
    items?: unknown
  }
  for (const name of required) here.push([[...at, name], { keyword: 'required', outside: [absent] }])
  if (additionalProperties === false)
    here.push([[...at, 'no_such_member'], { keyword: 'additionalProperties', outside: [1] }])
  for (const [name, its] of Object.entries(properties)) {
    if (!Array.isArray(value)) here.push(...placesIn(its, (value as Record<string, unknown>)[name], [...at, name]))
  }
  if (items !== undefined && Array.isArray(value) && value.length > 0)
    here.push(...placesIn(items, value[0], [...at, 0]))
  return here
}

/** The body with another value at a place. */
function withValue(body: unknown, at: Place, value: unknown): unknown {
  const [name, ...rest] = at
  if (name === undefined) return value
  const copy = (Array.isArray(body) ? [...body] : { ...(body as object) }) as Record<string, unknown>
  if (rest.length > 0) copy[name] = withValue(copy[name], rest, value)
  else if (value === absent) delete copy[name]
  else copy[name] = value
  return copy
}

interface Outside {
  operation: ContractOperation
  clause: string
  target: string
  body?: unknown
  headers?: Record<string, string>
}

const targetOf = ({ path }: ContractOperation) =>
  path.replaceAll(
    /\{(\w+)\}/g,
    (_, name) =>
      ({
        relayer_id: 'demo',
        network_id: 'evm:local',
        user: `0x${'1'.repeat(40)}`,
        call_id: `0x${'1'.repeat(64)}`,
        nonce: '1',
        problem_id: 'a'.repeat(22),
      })[name as string] ?? 'none',
  )

/** One request outside of each clause of an operation's body; a clause without one has none that only it forbids. */
function outsideOfBody(operation: ContractOperation): { requests: Outside[]; unprovoked: string[] } {
  const requests = new Map<string, Outside>()
  const unprovoked = new Set<string>()
  for (const [mediaType, schema] of Object.entries(operation.bodies)) {
    for (const example of operation.examples) {
      for (const [at, { keyword, outside }] of placesIn(schema, example)) {
        const clause = `/body/${at.join('/')} ${keyword}`
        const body = outside
          .map((value) => withValue(example, at, value))
          .find((its) => requestFault(operation, mediaType, its) !== undefined)
        if (body === undefined) unprovoked.add(`${operation.id} ${clause}`)
        else if (!requests.has(clause)) requests.set(clause, { operation, clause, target: targetOf(operation), body })
      }
    }
  }
  return {
    requests: [...requests.values()],
    unprovoked: [...unprovoked].filter((line) => !requests.has(line.slice(operation.id.length + 1))),
  }
}

/** The same of its query and headers. */
function outsideOfParameters(operation: ContractOperation): { requests: Outside[]; unprovoked: string[] } {
  const requests: Outside[] = []
  const unprovoked: string[] = []
  const [body] = operation.examples
  const add = (parameter: Parameter, { keyword, outside }: Clause) => {
    const clause = `/${parameter.in === 'header' ? 'headers' : 'query'}/${parameter.name} ${keyword}`
    const found = outside
      .filter((value) => typeof value !== 'object' || Array.isArray(value))
      .map((value): Outside => {
        if (parameter.in === 'header')
          return { operation, clause, target: targetOf(operation), body, headers: { [parameter.name]: `${value}` } }
        const query = new URLSearchParams([value].flat().map((its): [string, string] => [parameter.name, `${its}`]))
        return { operation, clause, target: `${targetOf(operation)}?${query}`, body }
      })
      .find(
        ({ target, headers = {} }) => isSendable(headers) && parameterFault(operation, target, headers) !== undefined,
      )
    if (found) requests.push(found)
    else unprovoked.push(`${operation.id} ${clause}`)
  }
  for (const parameter of [...parametersIn(operation, 'query'), ...parametersIn(operation, 'header')])
    for (const [at, clause] of placesIn(parameter.schema, undefined)) if (at.length === 0) add(parameter, clause)
  return { requests, unprovoked }
}

/** fetch sends no control characters and no empty values of headers. */
const isSendable = (headers: Record<string, string>) => Object.values(headers).every((value) => /^[ -~]+$/.test(value))

test('refuses a request outside of each clause of the contract, and names the place', async () => {
  const { url, api_key, client } = await startTestService({
    RATE_LIMIT_PER_SECOND: '1000000',
    RATE_LIMIT_BURST: '10000000',
  })
  const rules = { relayer_id: 'demo', max_gas_per_call: 100_000, max_fee_per_call: '1', max_fee_per_day: '1' }
  const { token } = await client.sponsorships.create({ id: 'game', ...rules })
  const guarded = operations.filter((operation) => operation.guarded)
  const all = guarded.flatMap((operation) => [outsideOfBody(operation), outsideOfParameters(operation)])
  const requests = all.flatMap((its) => its.requests)
  const broken: string[] = []
  for (const { operation, clause, target, body, headers } of requests) {
    const { method, roles, bodies } = operation
    const response = await fetch(`${url}${target}`, {
      method,
      headers: {
        Authorization: `Bearer ${roles.includes('relay') ? token : api_key}`,
        ...(body !== undefined && { 'Content-Type': Object.keys(bodies)[0] as string }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    // JSON-RPC answers a fault of its body with an error.
    const isRefused = response.status === 400 || /"error":\{"code":-326/.test(text)
    if (!isRefused || !text.includes(placeOf(clause)))
      broken.push(`${operation.id} ${clause}: ${response.status} ${text.slice(0, 300)}`)
  }
  const unprovoked = all.flatMap((its) => its.unprovoked)
  process.stdout.write(
    `${requests.length - broken.length} of ${requests.length} clauses of requests hold. ${unprovoked.length} forbid nothing by themselves: another alternative permits it, or a header is always text:\n${unprovoked.map((line) => `  ${line}\n`).join('')}`,
  )
  expect(requests.length).toBeGreaterThan(1_000)
  expect(broken).toEqual([])
})

/** What an answer names: the first member at most, since alternatives are compared as a whole, and a member that is absent has no place. */
function placeOf(clause: string): string {
  const [place = '', keyword] = clause.split(' ')
  const [, part, member] = place.split('/')
  return keyword === 'required' || member === ''
    ? `"/${part}`
    : `/${part}/${part === 'headers' ? member?.toLowerCase() : member}`
}
