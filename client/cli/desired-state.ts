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

/** Reads a YAML or JSON file. Throws CommandError with the place of a fault. */
export function readState(text: string): Map<Kind, Entry[]> {
  let file: unknown
  try {
    file = readYaml(text)
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`The file is no YAML: ${(error as Error).message}`)
  }
  if (!isEntry(file)) throw new CommandError(`The file must have members of these: ${kinds.join(', ')}`)
  const unknown = Object.keys(file).find((name) => !kinds.some((kind) => kind === name))
  if (unknown !== undefined) {
    const near = nearest(unknown, kinds)
    const question = near === undefined ? '' : `; did you mean ${near}?`
    throw new CommandError(`${unknown} is none of ${kinds.join(', ')}${question}`)
  }
  return new Map(kinds.flatMap((kind) => (kind in file ? [[kind, entriesOf(kind, file[kind])] as const] : [])))
}

/** YAML reads an address without quotes as a number. Throws CommandError for it, and what the parser throws. */
function readYaml(text: string): unknown {
  const document = parseDocument(text, { intAsBigInt: true, logLevel: 'error' })
  const [fault] = document.errors
  if (fault) throw fault
  const numbers: string[] = []
  visit(document, {
    Scalar(_, { format, source = '' }) {
      if (format === 'HEX' && source.length >= 42) numbers.push(source)
    },
  })
  if (numbers.length > 0)
    throw new CommandError(numbers.map((one) => `${one} must be in quotes: YAML reads it as a number`).join('\n'))
  return document.toJS()
}

function entriesOf(kind: Kind, list: unknown): Entry[] {
  if (!Array.isArray(list)) throw new CommandError(`${kind} must be a list`)
  const names = new Set<unknown>()
  return list.map((given, index) => {
    const place = `${kind}[${index}]`
    if (!isEntry(given)) throw new CommandError(`${place} must have members`)
    const entry = plain(given, place) as Entry
    const name = nameOf(kind, entry)
    if (typeof name !== 'string') throw new CommandError(`${place} must have ${isNamed(kind) ? 'a name' : 'an id'}`)
    if (names.has(name)) throw new CommandError(`${place}: ${name} is there twice`)
    names.add(name)
    return entry
  })
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
