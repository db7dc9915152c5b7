import type { Command } from 'commander'
import { RelayerError } from '../error.ts'
import { ifMatch } from '../revision.ts'
import { nearest, readBodyCheck } from './body-check.ts'
import { collect } from './collect.ts'
import { confirm } from './confirm.ts'
import { type Context, readInput } from './context.ts'
import {
  type Difference,
  differences,
  type Entry,
  type Kind,
  kinds,
  nameOf,
  noting,
  type ReadState,
  readState,
} from './desired-state.ts'
import { CommandError } from './exit-codes.ts'
import { lossOf } from './lost-key.ts'
import { inLine } from './terminal.ts'

type Call = (path: string, input?: object) => Promise<{ data: Entry }>
type Calls = Record<'get' | 'post' | 'patch' | 'put' | 'delete', Call>

/** One request that the service gets. */
interface Step {
  action: 'create' | 'change' | 'delete'
  kind: Kind | 'funding'
  name: string
  changes: Difference[]
  /** In the file. */
  place: string
  call: {
    method: 'post' | 'patch' | 'put' | 'delete'
    path: string
    parameters?: Record<string, string>
    body?: Entry
    /** The revision that the plan was made from. */
    header?: ReturnType<typeof ifMatch>
  }
}

interface ApplyOptions {
  yes?: boolean
  dryRun?: boolean
  prune?: boolean
}

const pathOf: Record<Kind, { path: string; id: string }> = {
  networks: { path: '/api/v1/networks', id: 'network_id' },
  signers: { path: '/api/v1/signers', id: 'signer_id' },
  notifications: { path: '/api/v1/notifications', id: 'notification_id' },
  abis: { path: '/api/v1/abis', id: 'abi_id' },
  relayers: { path: '/api/v1/relayers', id: 'relayer_id' },
  pools: { path: '/api/v1/pools', id: 'pool_id' },
  sponsorships: { path: '/api/v1/sponsorships', id: 'sponsorship_id' },
  facilitators: { path: '/api/v1/facilitators', id: 'facilitator_id' },
  api_keys: { path: '/api/v1/api-keys', id: 'api_key_id' },
}
const defaults: Partial<Record<Kind, Entry>> = {
  networks: { network_type: 'evm' },
  relayers: { network_type: 'evm', paused: false },
}
/** Members that are fixed when a resource is created. */
const fixed: Record<Kind, string[]> = {
  networks: ['name', 'network_type', 'chain_id'],
  signers: ['id', 'type', 'address'],
  notifications: ['id'],
  abis: ['id', 'network', 'address', 'name'],
  relayers: ['id', 'network', 'network_type', 'signer_id'],
  pools: ['id', 'network'],
  sponsorships: ['id', 'relayer_id', 'pool_id'],
  facilitators: ['id', 'pool_id'],
  api_keys: [],
}

/** `apply`: makes the resources of the service those of a file. */
export function addApply(program: Command, context: () => Context): void {
  program
    .command('apply <file>')
    .description(
      'create and change networks, signers, notifications, ABIs, relayers, pools, sponsorships, facilitators and API keys as a YAML file says (-: standard input)',
    )
    .option('--dry-run', 'only print what would be done')
    .option('--yes', 'do not ask')
    .option('--prune', 'also delete what is not in the file, of the kinds that the file has')
    .action(async (file: string, options: ApplyOptions) => {
      const world = context()
      const { state, faults } = readState(await readInput(file))
      const steps =
        state.size === 0 && faults.length > 0 ? [] : await planOf(world, { state, faults }, options.prune === true)
      faults.push(...(await bodyFaults(world, steps)), ...(await nameFaults(world, state, steps)))
      if (faults.length > 0) throw new CommandError(`Nothing was done:\n${faults.join('\n')}`)
      // Bodies may hold secrets.
      const shown = steps.map(({ action, kind, name, changes }) => ({ action, kind, name, changes }))
      if (world.print.isJson && options.dryRun) return world.print.list(shown, [])
      for (const step of steps) world.print.note(lineOf(step))
      for (const { action, kind, name } of steps) {
        const loss = action === 'delete' && kind === 'signers' ? await lossOf(world, name) : undefined
        if (loss !== undefined) world.print.note(loss)
      }
      if (steps.length === 0) return world.print.note('Nothing to do')
      if (options.dryRun) return
      if (!options.yes) await confirm('Carry this out?', 'Give --yes to carry this out, or --dry-run')
      for (const step of steps) await carryOut(world, step)
    })
}

/**
 * Deletions come last, in the reverse order; funding after the relayers and pools that it names. An entry that cannot be carried out
 * becomes a fault.
 */
async function planOf(world: Context, { state, faults }: ReadState, prune: boolean): Promise<Step[]> {
  const own = prune ? (await world.client.get('/api/v1/api-keys/self')).data.id : undefined
  const steps: Step[] = []
  const funding: Step[] = []
  const deletions: Step[] = []
  for (const kind of kinds) {
    const entries = state.get(kind)
    if (!entries) continue
    const { path, id: parameter } = pathOf[kind]
    const all = world.client.all as unknown as (path: string) => AsyncIterable<Entry>
    const current = await collect(all(path))
    const known = new Map(current.map((one) => [nameOf(kind, one), one]))
    for (const [index, { funding: wanted, ...entry }] of entries.entries()) {
      const name = nameOf(kind, entry) as string
      const place = `${kind}[${index}] (${name})`
      const hasFunding = kind === 'relayers' || kind === 'pools'
      if (wanted !== undefined && !hasFunding) faults.push(`${place}.funding: only relayers and pools have funding`)
      steps.push(...(noting(faults, () => stepFor(faults, { kind, place, entry, current: known.get(name) })) ?? []))
      const target = { path: `${path}/{${parameter}}/funding`, parameters: { [parameter]: name } }
      if (wanted !== undefined && hasFunding)
        funding.push(
          ...(await fundingStep(world, `${place}.funding`, wanted, { name, isNew: !known.has(name), ...target })),
        )
      known.delete(name)
    }
    if (!prune) continue
    for (const [name, { id, scopes }] of known) {
      // The key that carries this out, and those of sponsorships and facilitators, which go with them.
      const isOfResource =
        kind === 'api_keys' && ['relay', 'settle'].some((scope) => (scopes as string[]).includes(scope))
      if (isOfResource || (kind === 'api_keys' && id === own)) continue
      const call = {
        method: 'delete',
        path: `${path}/{${parameter}}`,
        parameters: { [parameter]: String(id) },
      } as const
      deletions.unshift({ action: 'delete', kind, name: String(name), changes: [], place: `${kind} ${name}`, call })
    }
  }
  return [
    ...steps.filter(({ kind }) => kind !== 'api_keys'),
    ...funding,
    ...steps.filter(({ kind }) => kind === 'api_keys'),
    ...deletions,
  ]
}

/** An entry of the file, and the resource that the service has for it. */
interface Placed {
  kind: Kind
  place: string
  entry: Entry
  current: Entry | undefined
}

function stepFor(faults: string[], { kind, place, entry, current }: Placed): Step[] {
  const name = nameOf(kind, entry) as string
  const { path, id: parameter } = pathOf[kind]
  if (!current) {
    const { signing_key_env, ...rest } = entry
    const body = { ...defaults[kind], ...rest, ...(signing_key_env !== undefined && secretOf(place, signing_key_env)) }
    return [{ action: 'create', kind, name, changes: [], place, call: { method: 'post', path, body } }]
  }
  // A generated key is shown as what it is since then.
  const { type, ...others } = entry
  const compared = kind === 'signers' && type === 'generated' ? others : entry
  const changes = differences(compared, asGiven(kind, current))
  const [wrong, right] = [true, false].map((is) =>
    changes.filter(({ member }) => (kind === 'signers' || fixed[kind].includes(member)) === is),
  ) as [Difference[], Difference[]]
  for (const { member, before } of wrong)
    faults.push(`${place}: ${member} cannot be changed; it is ${inLine(String(before))}. ${instead(kind)}`)
  if (right.length === 0) return []
  // A member of an object is changed with the others of the object that the file has.
  const members = new Set(right.map(({ member }) => member.split('.')[0] as string))
  const body = Object.fromEntries(Object.entries(entry).filter(([member]) => members.has(member)))
  const call = {
    method: 'patch',
    path: `${path}/{${parameter}}`,
    parameters: { [parameter]: String(current.id) },
    body,
    header: ifMatch(String(current.revision)),
  } as const
  return [{ action: 'change', kind, name, changes, place, call }]
}

const instead = (kind: Kind): string =>
  `Give the entry another ${kind === 'networks' ? 'name' : 'id'}, which makes another one`

/** A resource with the members that a request gives: a pool shows its relayers with their weights. */
function asGiven(kind: Kind, current: Entry): Entry {
  if (kind !== 'pools') return current
  const relayers = current.relayers as { relayer_id: string; weight: number }[]
  const weights = Object.fromEntries(relayers.map(({ relayer_id, weight }) => [relayer_id, weight]))
  return { ...current, relayer_ids: relayers.map((one) => one.relayer_id), weights }
}

/** The funding of a relayer or a pool is set as a whole; null ends it. */
async function fundingStep(
  world: Context,
  place: string,
  wanted: unknown,
  { name, isNew, path, parameters }: { name: string; isNew: boolean; path: string; parameters: Record<string, string> },
): Promise<Step[]> {
  const one = { path: parameters }
  const current = isNew ? undefined : await (world.client as unknown as Calls).get(path, one).catch(asNone)
  const before = current?.data.funding as Entry | undefined
  const step = { kind: 'funding', name, place } as const
  if (wanted === null)
    return before ? [{ ...step, action: 'delete', changes: [], call: { method: 'delete', path, parameters } }] : []
  const body = wanted as Entry
  const changes = before ? differences(body, before) : []
  if (before && changes.length === 0) return []
  return [
    {
      ...step,
      action: before ? 'change' : 'create',
      changes,
      call: {
        method: 'put',
        path,
        parameters,
        body,
        ...(current && { header: ifMatch(String(current.data.revision)) }),
      },
    },
  ]
}

function asNone(error: unknown): undefined {
  if (error instanceof RelayerError && error.status === 404) return undefined
  throw error
}

/** Nothing is changed before every body fits the contract, and names only what is there or in the file. */
async function bodyFaults({ url }: Context, steps: Step[]): Promise<string[]> {
  const bodies = steps.filter(({ call }) => call.body !== undefined)
  if (bodies.length === 0) return []
  const check = await readBodyCheck(url)
  return bodies.flatMap(({ place, call: { method, path, body } }) =>
    check(method, path, body).map((fault) => `${place}: ${inLine(fault)}`),
  )
}

/** The members that name resources. */
const named: Record<string, Kind> = {
  network: 'networks',
  signer_id: 'signers',
  ...{ notification_id: 'notifications', notification_ids: 'notifications' },
  ...{ relayer_id: 'relayers', relayer_ids: 'relayers', treasury_id: 'relayers' },
  ...{ pool_id: 'pools', pool_ids: 'pools' },
}

async function nameFaults({ client }: Context, state: Map<Kind, Entry[]>, steps: Step[]): Promise<string[]> {
  const there = new Map<Kind, string[]>()
  /** Of what the API key may not list, any name may be there. */
  const namesOf = async (kind: Kind): Promise<string[] | undefined> => {
    const all = client.all as unknown as (path: string) => AsyncIterable<Entry>
    const known = there.get(kind) ?? (await collect(all(pathOf[kind].path)).catch(asForbidden))
    if (known === undefined) return undefined
    const names = [...known, ...(state.get(kind) ?? [])].map((one) =>
      typeof one === 'string' ? one : nameOf(kind, one),
    )
    there.set(kind, names.map(String))
    return there.get(kind)
  }
  const faults: string[] = []
  for (const { place, call } of steps)
    for (const [member, given] of Object.entries(call.body ?? {})) {
      const kind = named[member]
      const names = kind && given !== null ? await namesOf(kind) : undefined
      const wrong = names && [given].flat().find((one) => typeof one === 'string' && !names.includes(one))
      if (!kind || !names || wrong === undefined) continue
      const near = nearest(String(wrong), names)
      const question = near === undefined ? '' : `; did you mean ${inLine(near)}?`
      faults.push(inLine(`${place}: ${member} names ${wrong}, and ${kind} has none of this name${question}`))
    }
  return faults
}

function asForbidden(error: unknown): undefined {
  if (error instanceof RelayerError && error.status === 403) return undefined
  throw error
}

/** The file names the variable of the environment that holds the key. */
function secretOf(place: string, variable: unknown): { signing_key: string } {
  const signingKey = process.env[String(variable)]
  if (!signingKey) throw new CommandError(`${place}: the environment has no ${variable} (signing_key_env)`)
  return { signing_key: signingKey }
}

const hidden = 'set again, because the service shows only the hosts'

const lineOf = ({ action, kind, name, changes }: Step): string =>
  [
    `${action} ${kind.replace(/s$/, '').replace('_', ' ')} ${inLine(name)}`,
    ...changes.map(
      ({ member, before, after, is_hidden }) =>
        `    ${member}: ${is_hidden ? hidden : `${inLine(JSON.stringify(before))} -> ${inLine(JSON.stringify(after))}`}`,
    ),
  ].join('\n')

async function carryOut({ client, print }: Context, { action, kind, name, place, call }: Step): Promise<void> {
  const { method, path, parameters, body, header } = call
  try {
    const { data } = await (client as unknown as Calls)[method](path, {
      ...(parameters && { path: parameters }),
      ...(body && { body }),
      ...(header && { header }),
    })
    // The token of a new API key is shown this once.
    if (action === 'create' && 'token' in data) print.one(data)
    else print.note(`${action}d ${kind} ${inLine(name)}`)
  } catch (error) {
    if (error instanceof Error) error.message = `${place}: ${error.message}`
    throw error
  }
}
