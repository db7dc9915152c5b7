import { amountMembers, secretMembers } from '../../generated/client-bodies.ts'
import { readWei } from './amounts.ts'
import { parseJson, readInput } from './context.ts'
import { CommandError } from './exit-codes.ts'

export interface BodyOptions {
  file?: string
  set?: string[]
}

type Body = Record<string, unknown>

/** Collects the values of an option that may be repeated. */
export const repeated = (value: string, before: string[] = []): string[] => [...before, value]

/**
 * A request body from --file and --set. `NAME=VALUE` sets a member, `policies.max_value=5` a member of a member; the value is JSON, or
 * else text; an integer above 2^53 stays text, as amounts are. An amount may have a unit (`policies.max_value=1ether`), and `rpc_urls[]=URL`
 * adds a member to a list, as does `rpc_urls=URL` where the contract has a list.
 */
export async function readBody(
  { file, set = [] }: BodyOptions,
  start: Body = {},
  isList: (member: string) => boolean = () => false,
): Promise<Body> {
  const given = file === undefined ? {} : parseJson(await readInput(file), file === '-' ? 'Standard input' : file)
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new CommandError('The body must be a JSON object')
  const body: Body = { ...start, ...given }
  for (const assignment of set) assign(body, assignment, isList)
  return body
}

function assign(body: Body, assignment: string, isList: (member: string) => boolean): void {
  const sign = assignment.indexOf('=')
  const names = assignment.slice(0, Math.max(0, sign)).split('.')
  const last = names.pop()
  if (!last || names.includes(''))
    throw new CommandError(`--set must be NAME=VALUE, for example name=Treasury; it is ${assignment}`)
  // Other users of the machine can see arguments, and shells keep them.
  const secret = [...names, last].find((name) => secretMembers.has(name.replace(/\[\]$/, '')))
  if (secret !== undefined)
    throw new CommandError(
      `${secret} is a secret: pass it in a file or on standard input (--file, or its own option), not with --set`,
    )
  let place = body
  for (const name of names) {
    const inner = Object.hasOwn(place, name) ? place[name] : undefined
    const next = typeof inner === 'object' && inner !== null ? (inner as Body) : {}
    Object.defineProperty(place, name, { value: next, enumerable: true, configurable: true, writable: true })
    place = next
  }
  const name = last.replace(/\[\]$/, '')
  const its = readValue(assignment.slice(sign + 1), amountMembers.has(name))
  const isMember = last !== name || (isList([...names, name].join('.')) && its !== null && typeof its !== 'object')
  const value = isMember ? [...((place[name] as unknown[] | undefined) ?? []), its] : its
  Object.defineProperty(place, name, { value, enumerable: true, configurable: true, writable: true })
}

function readValue(input: string, isAmount: boolean): unknown {
  if (isAmount && /^\d/.test(input)) return readWei(input).toString()
  try {
    const value: unknown = JSON.parse(input)
    return typeof value === 'number' && !Number.isSafeInteger(value) && Number.isInteger(value) ? input : value
  } catch {
    return input
  }
}
