import type { Command } from 'commander'
import type { ApiKey } from '../../generated/client.ts'
import { bodyMembers } from '../../generated/client-bodies.ts'
import { ifMatch } from '../revision.ts'
import { type BodyOptions, readBody, repeated } from './body.ts'
import { collect } from './collect.ts'
import { confirm } from './confirm.ts'
import { type Context, parseJson, readSecret } from './context.ts'
import { CommandError } from './exit-codes.ts'
import { lossOf } from './lost-key.ts'
import type { Column } from './print.ts'

type Body = Record<string, unknown>
type Verb = 'list' | 'show' | 'self' | 'create' | 'change' | 'rotate' | 'delete'

/** An option that names a file with a secret, and the member of the body that the secret becomes. */
interface Secret {
  option: string
  about: string
  /** Changes the body. */
  apply(body: Body, secret: string): void
}

interface Resource {
  name: string
  about: string
  /** Of the list; a single one is `<path>/{<id>}`. */
  path: string
  id: string
  columns: Column[]
  verbs: Verb[]
  /** Members of a new one that are not given. */
  defaults?: Body
  secrets?: Secret[]
  /** What a deletion loses for good, in words: the command asks first. Undefined: nothing. */
  lossOf?(world: Context, id: string): Promise<string | undefined>
}

const config = (body: Body): Body => {
  body.config = { ...(body.config as Body | undefined) }
  return body.config as Body
}

const resources: Resource[] = [
  {
    name: 'relayers',
    about: 'named keys on networks',
    path: '/api/v1/relayers',
    id: 'relayer_id',
    columns: ['id', 'network', 'address', 'paused', 'system_disabled', 'disabled_reason'],
    verbs: ['list', 'show', 'create', 'change', 'delete'],
    defaults: { network_type: 'evm', paused: false },
  },
  {
    name: 'signers',
    about: 'private keys',
    path: '/api/v1/signers',
    id: 'signer_id',
    columns: ['id', 'type', 'address'],
    verbs: ['list', 'show', 'create', 'delete'],
    defaults: { type: 'generated' },
    lossOf,
    secrets: [
      {
        option: 'key-file',
        about: 'imports the private key in this file (-: standard input)',
        apply(body, key) {
          body.type = 'plain'
          config(body).key = key.trim()
        },
      },
      {
        option: 'keystore-file',
        about: 'imports the V3 keystore in this file',
        apply(body, keystore) {
          body.type = 'keystore'
          config(body).keystore = parseJson(keystore, 'The keystore')
        },
      },
      {
        option: 'passphrase-file',
        about: 'the passphrase of the keystore (-: standard input)',
        apply(body, passphrase) {
          config(body).passphrase = passphrase
        },
      },
    ],
  },
  {
    name: 'networks',
    about: 'chains and their RPC endpoints',
    path: '/api/v1/networks',
    id: 'network_id',
    columns: ['id', 'chain_id', 'required_confirmations', 'is_testnet', 'symbol'],
    verbs: ['list', 'show', 'create', 'change', 'delete'],
    defaults: { network_type: 'evm' },
  },
  {
    name: 'pools',
    about: 'several relayers of one network that send as one',
    path: '/api/v1/pools',
    id: 'pool_id',
    columns: ['id', 'network', 'relayers'],
    verbs: ['list', 'show', 'create', 'change', 'delete'],
  },
  {
    name: 'abis',
    about: 'ABIs of contracts, which decode their calls and errors',
    path: '/api/v1/abis',
    id: 'abi_id',
    columns: ['id', 'network', 'address', 'name'],
    verbs: ['list', 'show', 'create', 'delete'],
  },
  {
    name: 'notifications',
    about: 'webhook endpoints',
    path: '/api/v1/notifications',
    id: 'notification_id',
    columns: ['id', 'type', 'url', 'has_signing_key'],
    verbs: ['list', 'show', 'create', 'change', 'delete'],
    defaults: { type: 'webhook' },
    secrets: [
      {
        option: 'signing-key-file',
        about: 'the secret that signs deliveries (-: standard input)',
        apply(body, key) {
          body.signing_key = key
        },
      },
    ],
  },
  {
    name: 'sponsorships',
    about: 'whose calls are paid for; create prints the token once',
    path: '/api/v1/sponsorships',
    id: 'sponsorship_id',
    columns: ['id', 'network', 'relayer_id', 'pool_id', 'max_fee_per_day', 'usage.remaining', 'paused'],
    verbs: ['list', 'show', 'create', 'change', 'delete'],
  },
  {
    name: 'facilitators',
    about: 'x402 facilitators; create prints the token once',
    path: '/api/v1/facilitators',
    id: 'facilitator_id',
    columns: ['id', 'network', 'pool_id', 'pay_to', 'max_fee_per_day', 'usage.remaining'],
    verbs: ['list', 'show', 'create', 'change', 'delete'],
  },
  {
    name: 'keys',
    about: 'API keys; create and rotate print the token once',
    path: '/api/v1/api-keys',
    id: 'api_key_id',
    columns: ['id', 'name', 'scopes', { title: 'relayers', text: relayersOf }, 'expires_at', 'last_used_at'],
    verbs: ['list', 'show', 'self', 'create', 'change', 'rotate', 'delete'],
  },
]

/** The relayers and pools that an API key may use, in words. */
function relayersOf(item: Body): string {
  const { scopes, relayer_ids, pool_ids } = item as unknown as ApiKey
  if (scopes.includes('settle')) return 'those of its facilitator'
  if (scopes.includes('relay')) return 'those of its sponsorship'
  const names = [...(relayer_ids ?? ['all relayers']), ...pool_ids.map((id) => `pool ${id}`)]
  return names.join(', ') || 'none'
}

const about: Record<Verb, string> = {
  list: 'list all',
  show: 'show one',
  self: 'show the one of this call: its scopes, and what is left of its budget',
  create: 'create one from --file and --set',
  change: 'change members of one: absent members stay, null removes',
  rotate:
    'replace the token; the former one stays valid for previous_token_valid_seconds, a day unless --set otherwise',
  delete: 'delete one',
}

const setHelp =
  'sets a member, for example policies.max_value=1ether; again for another member, or for another value of a list'

const idOf = (verb: Verb) => (['list', 'self', 'create'].includes(verb) ? '' : ' <id>')

type Call = (path: string, input?: Body) => Promise<{ data: unknown }>
type Calls = Record<'get' | 'post' | 'patch' | 'delete', Call>

/** Each resource with its verbs, such as `relayers list`. */
export function addResources(program: Command, context: () => Context): void {
  for (const resource of resources) {
    const group = program.command(resource.name).description(resource.about)
    for (const verb of resource.verbs) addVerb(group, resource, verb, context)
  }
}

function addVerb(group: Command, resource: Resource, verb: Verb, context: () => Context): void {
  const command = group.command(`${verb}${idOf(verb)}`).description(about[verb])
  if (['create', 'change', 'rotate'].includes(verb)) {
    command
      .option('--file <file>', 'a JSON object with the members (-: standard input)')
      .option('--set <name=value>', setHelp, repeated)
    if (verb === 'change')
      command.option('--revision <revision>', 'refuse the change if the resource has another one (default: read now)')
    for (const { option, about } of resource.secrets ?? []) command.option(`--${option} <file>`, about)
    command.addHelpText('after', membersHelp(resource, verb))
  }
  if (verb === 'delete' && resource.lossOf) command.option('--yes', 'do not ask')
  command.action(async (...given: unknown[]) => {
    const id = idOf(verb) === '' ? '' : (given[0] as string)
    const world = context()
    await run(world, resource, verb, id, command.opts())
  })
}

const operationOf: Partial<Record<Verb, (resource: Resource) => string>> = {
  create: ({ path }) => `post ${path}`,
  change: ({ path, id }) => `patch ${path}/{${id}}`,
  rotate: ({ path, id }) => `post ${path}/{${id}}/rotate`,
}

/** The members that --set takes, with their types and units, from the contract. */
function membersHelp(resource: Resource, verb: Verb): string {
  return listOfMembers(operationOf[verb]?.(resource) ?? '', verb === 'create' ? resource.defaults : {})
}

/** `within`: only those of this member, without its name. */
export function listOfMembers(operation: string, defaults: Body = {}, within = ''): string {
  const members = (bodyMembers[operation] ?? [])
    .filter(([name]) => name.startsWith(within))
    .map(([name, ...others]) => [name.slice(within.length), ...others] as const)
  const width = Math.max(0, ...members.map(([name]) => name.length))
  return [
    '',
    'Members:',
    ...members.map(([name, given, about]) => {
      const type = name in defaults ? `${given.replace(' (required)', '')} (default: ${defaults[name]})` : given
      return `  ${name.padEnd(width)}  ${type}${about && `: ${about}`}`
    }),
  ].join('\n')
}

/** Whether a member of an operation's body is a list. */
export const listsOf =
  (operation: string, within = '') =>
  (member: string): boolean =>
    (bodyMembers[operation] ?? []).some(([name, type]) => name === within + member && type.startsWith('list of '))

async function run(world: Context, resource: Resource, verb: Verb, id: string, options: BodyOptions & Body) {
  const { client, print } = world
  // The paths come from the table above, so their types are not known here.
  const calls = client as unknown as Calls
  const { path, columns } = resource
  const onePath = `${path}/{${resource.id}}`
  const one = { path: { [resource.id]: id } }
  switch (verb) {
    case 'list': {
      const all = client.all as unknown as (path: string) => AsyncIterable<Body>
      return print.list(await collect(all(path)), columns)
    }
    case 'show':
      return print.one((await calls.get(onePath, one)).data)
    case 'self':
      return print.one((await calls.get(`${path}/self`)).data)
    case 'create':
      return print.one((await calls.post(path, { body: await bodyOf(resource, verb, options) })).data)
    case 'change': {
      const body = await bodyOf(resource, verb, options)
      if (Object.keys(body).length === 0) throw new CommandError('Nothing to change: give --set or --file')
      const revision = options.revision ?? ((await calls.get(onePath, one)).data as Body).revision
      return print.one((await calls.patch(onePath, { ...one, body, header: ifMatch(String(revision)) })).data)
    }
    case 'rotate':
      return print.one((await calls.post(`${onePath}/rotate`, { ...one, body: await readBody(options) })).data)
    case 'delete':
      if (!options.yes) await confirmLoss(world, resource, id)
      return print.one((await calls.delete(onePath, one)).data, `deleted ${id}`)
  }
}

/** Asks before a deletion that loses something for good. */
async function confirmLoss(world: Context, { name, lossOf }: Resource, id: string): Promise<void> {
  const loss = await lossOf?.(world, id)
  if (loss === undefined) return
  world.print.note(loss)
  await confirm('Delete it?', `Nothing was done. To delete it: relayer ${name} delete ${id} --yes`)
}

/** Throws for a member of a member that --set names without the outer one. */
function checkNames(operation: string, set: string[] = []): void {
  const members = (bodyMembers[operation] ?? []).map(([member]) => member)
  for (const assignment of set) {
    const name = assignment.replace(/(?:\[\])?=.*$/s, '')
    if (members.some((member) => member === name || member.startsWith(`${name}.`))) continue
    const inner = members.filter((member) => member.endsWith(`.${name}`))
    if (inner.length > 0) throw new CommandError(`${name} is no member; did you mean ${inner.join(' or ')}?`)
  }
}

async function bodyOf(resource: Resource, verb: Verb, options: BodyOptions & Body): Promise<Body> {
  const { secrets = [], defaults } = resource
  const operation = operationOf[verb]?.(resource) ?? ''
  checkNames(operation, options.set)
  const isList = listsOf(operation)
  const body = await readBody(options, verb === 'create' ? defaults : {}, isList)
  for (const { option, apply } of secrets) {
    const file = options[option.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())]
    if (typeof file === 'string') apply(body, await readSecret(file))
  }
  return body
}
