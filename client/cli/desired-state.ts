import { parseDocument, visit } from 'yaml'
import { amountMembers, secretMembers } from '../../generated/client-bodies.ts'
import { readWei } from './amounts.ts'
import { nearest } from './body-check.ts'
import { CommandError } from './exit-codes.ts'

export type Entry = Record<string, unknown>

/** The resources that a file describes, in the order in which they are created: each may name those before it. */
export const kinds = [
  'networks',
  'signers',
  'notifications',
  'abis',
  'relayers',
  'pools',
  'sponsorships',
  'facilitators',
  'api_keys',
] as const
export type Kind = (typeof kinds)[number]

/** A member of an entry whose value is not the one of the service. */
export interface Difference {
  member: string
  before: unknown
  after: unknown
  /** It looks the same, and the service does not show all of it. */
  is_hidden?: true
}

/** Members that the service does not show again, or not as they were given: they count only for a new resource. */
const unseen: ReadonlySet<string> = new Set(['config', 'signing_key_env', 'abi'])

const isNamed = (kind: Kind): boolean => kind === 'networks' || kind === 'api_keys'

/** What the name of an entry is: networks and API keys have generated ids. */
export const nameOf = (kind: Kind, entry: Entry): unknown => entry[isNamed(kind) ? 'name' : 'id']

/** What a file describes, and what is wrong with it: a line for each fault, of which the state has nothing. */
export interface ReadState {
  state: Map<Kind, Entry[]>
  faults: string[]
}

/** Reads a YAML or JSON file. */
export function readState(text: string): ReadState {
  const faults: string[] = []
  const state = new Map<Kind, Entry[]>()
  const file = readYaml(text, faults)
  if (!isEntry(file)) {
    if (faults.length === 0) faults.push(`The file must have members of these: ${kinds.join(', ')}`)
    return { state, faults }
  }
  for (const [name, list] of Object.entries(file)) {
    const kind = kinds.find((kind) => kind === name)
    if (kind) state.set(kind, entriesOf(kind, list, faults))
    else faults.push(unknownKind(name))
  }
  return { state, faults }
}

function unknownKind(name: string): string {
  const near = nearest(name, kinds)
  return `${name} is none of ${kinds.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`
}

/** YAML reads an address without quotes as a number. Undefined: the file is no YAML. */
function readYaml(text: string, faults: string[]): unknown {
  const document = parseDocument(text, { intAsBigInt: true, logLevel: 'error' })
  visit(document, {
    Scalar(_, scalar) {
      const { format, source = '' } = scalar
      if (format !== 'HEX' || source.length < 42) return
      faults.push(`${source} must be in quotes: YAML reads it as a number`)
      scalar.value = source
    },
  })
  try {
    const [fault] = document.errors
    if (fault) throw fault
    return document.toJS()
  } catch (error) {
    faults.push(`The file is no YAML: ${(error as Error).message}`)
    return undefined
  }
}

function entriesOf(kind: Kind, list: unknown, faults: string[]): Entry[] {
  if (!Array.isArray(list)) {
    faults.push(`${kind} must be a list`)
    return []
  }
  const names = new Set<unknown>()
  return list.flatMap((given, index) => {
    const entry = noting(faults, () => entryOf(kind, given, `${kind}[${index}]`, names))
    return entry ? [entry] : []
  })
}

/** Throws CommandError. */
function entryOf(kind: Kind, given: unknown, place: string, names: Set<unknown>): Entry {
  if (!isEntry(given)) throw new CommandError(`${place} must have members`)
  const entry = plain(given, place) as Entry
  const name = nameOf(kind, entry)
  if (typeof name !== 'string') throw new CommandError(`${place} must have ${missingName(kind, entry)}`)
  if (names.has(name)) throw new CommandError(`${place}: ${name} is there twice`)
  names.add(name)
  return entry
}

function missingName(kind: Kind, { id, name }: Entry): string {
  if (isNamed(kind)) return id === undefined ? 'a name' : `a name: the service generates the id of one of ${kind}`
  return name === undefined ? 'an id' : `an id beside its name, for example id: ${String(name).toLowerCase()}`
}

/** The result, or undefined when it throws a CommandError, which becomes a fault. */
export function noting<T>(faults: string[], work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    faults.push(error.message)
    return undefined
  }
}

const isEntry = (value: unknown): value is Entry => typeof value === 'object' && value !== null && !Array.isArray(value)

/** An object may contain itself by an anchor. */
const maxDepth = 20

/**
 * Integers that a number holds exactly are numbers, others text, as amounts are; an amount may have a unit (`1ether`). Throws CommandError
 * for a secret.
 */
function plain(value: unknown, place: string, name = '', depth = 0): unknown {
  if (depth > maxDepth) throw new CommandError(`${place.slice(0, 60)}... has more than ${maxDepth} levels`)
  if (typeof value === 'string' && amountMembers.has(name) && /^\d[\d.]*\s?(?:wei|gwei|ether)$/.test(value))
    return readWei(value).toString()
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()
  if (Array.isArray(value)) return value.map((one, index) => plain(one, `${place}[${index}]`, name, depth + 1))
  if (!isEntry(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, its]) => {
      // It belongs in no file that is shared.
      if (secretMembers.has(name))
        throw new CommandError(
          `${place}.${name} is a secret: ${name === 'signing_key' ? 'give signing_key_env, the name of a variable that holds it' : 'create this one with its own command, which reads secrets from files'}`,
        )
      return [name, plain(its, `${place}.${name}`, name, depth + 1)]
    }),
  )
}

/** The members of an entry that differ from what the service shows. A member that the entry does not have stays as it is. */
export function differences(entry: Entry, current: Entry, before = ''): Difference[] {
  return Object.entries(entry).flatMap(([name, after]): Difference[] => {
    const member = `${before}${name}`
    if (unseen.has(name)) return []
    const its = current[name]
    if (isEntry(after) && isEntry(its)) return differences(after, its, `${member}.`)
    const isSame = JSON.stringify(normal(after, name)) === JSON.stringify(normal(its, name))
    // The URLs of nodes often contain secrets.
    const shown = name in nodeDefaults ? normal(after, name) : after
    const difference = { member, before: its ?? null, after: shown }
    if (!isSame) return [difference]
    return name in nodeDefaults && hidesSecret(after) ? [{ ...difference, is_hidden: true }] : []
  })
}

/** The one form of values that can be written in several: amounts, addresses, URLs of nodes, null, false and absent members. */
function normal(value: unknown, name: string): unknown {
  if (value === undefined || value === null) return null
  if (Array.isArray(value)) return value.map((one) => (name in nodeDefaults ? node(one, name) : normal(one, name)))
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return /^0x[0-9a-fA-F]*$/.test(value) ? value.toLowerCase() : value
  if (!isEntry(value)) return value
  const members = Object.entries(value).map(([key, its]) => [key, normal(its, key)] as const)
  return Object.fromEntries(
    members.filter(([, its]) => its !== null && its !== false).sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

/** The service shows only the origins of the URLs of nodes, because their paths often contain secrets. */
function node(given: unknown, name: string): unknown {
  const its = (typeof given === 'string' ? { url: given } : given) as { url: string }
  const { origin, pathname, search } = URL.parse(its.url) ?? { origin: its.url, pathname: '/', search: '' }
  const url = pathname === '/' && search === '' ? origin : `${origin}/***`
  return { ...nodeDefaults[name], ...its, url }
}

/** Whether the service does not show all of a URL that is given in full. */
const hidesSecret = (urls: unknown): boolean =>
  (Array.isArray(urls) ? urls : []).some((one) => {
    const { url } = (typeof one === 'string' ? { url: one } : one) as { url: string }
    return !url.endsWith('/***') && (node(one, 'rpc_urls') as { url: string }).url.endsWith('/***')
  })

/** The members that the service fills in, by the list of nodes that they are in. */
const nodeDefaults: Record<string, object> = {
  rpc_urls: { url: '', weight: 100 },
  custom_rpc_urls: { url: '', weight: 100 },
  private_rpc_urls: { url: '', method: 'eth_sendRawTransaction', private_expiry_blocks: 25 },
}
