import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { type Context, readInput } from './context.ts'
import { type Difference, differences, type Entry, type Kind, kinds, nameOf, readState } from './desired-state.ts'
import { CommandError } from './exit-codes.ts'
import { collect } from './resources.ts'
import { inLine } from './terminal.ts'

type Call = (path: string, input?: object) => Promise<{ data: Entry }>
type Calls = Record<'post' | 'patch' | 'delete', Call>

interface Step {
  kind: Kind
  name: string
  /** Of the resource in the service; undefined: it is created. */
  id: string | undefined
  action: 'create' | 'change' | 'delete'
  body: Entry
  changes: Difference[]
  place: string
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
  relayers: { path: '/api/v1/relayers', id: 'relayer_id' },
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
  relayers: ['id', 'network', 'network_type', 'signer_id'],
  api_keys: [],
}

/** `apply`: makes the resources of the service those of a file. */
export function addApply(program: Command, context: () => Context): void {
  program
    .command('apply <file>')
    .description(
      'create and change networks, signers, notifications, relayers and API keys as a YAML file says (-: standard input)',
    )
    .option('--dry-run', 'only print what would be done')
    .option('--yes', 'do not ask')
    .option('--prune', 'also delete what is not in the file, of the kinds that the file has')
    .action(async (file: string, options: ApplyOptions) => {
      const world = context()
      const steps = await planOf(world, readState(await readInput(file)), options.prune === true)
      // Bodies may hold secrets.
      const shown = steps.map(({ action, kind, name, changes }) => ({ action, kind, name, changes }))
      if (world.print.isJson && options.dryRun) return world.print.list(shown, [])
      for (const step of steps) world.print.note(lineOf(step))
      if (steps.length === 0) return world.print.note('Nothing to do')
      if (options.dryRun) return
      if (!options.yes) await confirm()
      for (const step of steps) await carryOut(world, step)
    })
}

/** Deletions come last, in the reverse order. */
async function planOf(world: Context, state: Map<Kind, Entry[]>, prune: boolean): Promise<Step[]> {
  const own = prune ? (await world.client.get('/api/v1/api-keys/self')).data.id : undefined
  const steps: Step[] = []
  const deletions: Step[] = []
  for (const kind of kinds) {
    const entries = state.get(kind)
    if (!entries) continue
    const all = world.client.all as unknown as (path: string) => AsyncIterable<Entry>
    const current = await collect(all(pathOf[kind].path))
    const known = new Map(current.map((one) => [nameOf(kind, one), one]))
    for (const [index, entry] of entries.entries()) {
      const name = nameOf(kind, entry) as string
      steps.push(...stepFor(kind, `${kind}[${index}] (${name})`, entry, known.get(name)))
      known.delete(name)
    }
    if (!prune) continue
    for (const [name, { id }] of known) {
      // The key that carries this out.
      if (kind === 'api_keys' && id === own) continue
      const step = { kind, name: String(name), id: String(id), place: `${kind} ${name}`, body: {}, changes: [] }
      deletions.unshift({ ...step, action: 'delete' })
    }
  }
  return [...steps, ...deletions]
}

function stepFor(kind: Kind, place: string, entry: Entry, current: Entry | undefined): Step[] {
  const name = nameOf(kind, entry) as string
  if (!current) {
    const { signing_key_env, ...rest } = entry
    const body = { ...defaults[kind], ...rest, ...(signing_key_env !== undefined && secretOf(place, signing_key_env)) }
    return [{ kind, name, id: undefined, action: 'create', body, changes: [], place }]
  }
  // A generated key is shown as what it is since then.
  const { type, ...others } = entry
  const compared = kind === 'signers' && type === 'generated' ? others : entry
  const changes = differences(compared, current)
  const wrong = changes.find(({ member }) => kind === 'signers' || fixed[kind].includes(member))
  if (wrong)
    throw new CommandError(`${place}: ${wrong.member} cannot be changed; it is ${inLine(String(wrong.before))}`)
  if (changes.length === 0) return []
  // A member of an object is changed with the others of the object that the file has.
  const members = new Set(changes.map(({ member }) => member.split('.')[0] as string))
  const body = Object.fromEntries(Object.entries(entry).filter(([member]) => members.has(member)))
  return [{ kind, name, id: String(current.id), action: 'change', body, changes, place }]
}

/** The file names the variable of the environment that holds the key. */
function secretOf(place: string, variable: unknown): { signing_key: string } {
  const signingKey = process.env[String(variable)]
  if (!signingKey) throw new CommandError(`${place}: the environment has no ${variable} (signing_key_env)`)
  return { signing_key: signingKey }
}

const lineOf = ({ action, kind, name, changes }: Step): string =>
  [
    `${action} ${kind.replace(/s$/, '').replace('_', ' ')} ${inLine(name)}`,
    ...changes.map(
      ({ member, before, after }) =>
        `    ${member}: ${inLine(JSON.stringify(before))} -> ${inLine(JSON.stringify(after))}`,
    ),
  ].join('\n')

async function confirm(): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandError('Give --yes to carry this out, or --dry-run')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question('Carry this out? (yes) ')
  terminal.close()
  if (answer.trim() !== 'yes') throw new CommandError('Nothing was done')
}

async function carryOut({ client, print }: Context, { kind, action, id, body, name, place }: Step): Promise<void> {
  const calls = client as unknown as Calls
  const { path, id: parameter } = pathOf[kind]
  const one = { path: { [parameter]: id } }
  try {
    const done =
      action === 'create'
        ? await calls.post(path, { body })
        : action === 'change'
          ? await calls.patch(`${path}/{${parameter}}`, { ...one, body })
          : await calls.delete(`${path}/{${parameter}}`, one)
    // The token of a new API key is shown this once.
    if (action === 'create' && kind === 'api_keys') print.one(done.data)
    else print.note(`${action}d ${kind} ${inLine(name)}`)
  } catch (error) {
    if (error instanceof Error) error.message = `${place}: ${error.message}`
    throw error
  }
}
