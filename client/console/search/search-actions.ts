import { Bell, Gift, KeyRound, Layers, type LucideIcon, Network, Wallet } from 'lucide-react'
import { paths } from '../data/paths.ts'
import {
  useHealthOf,
  useNetworks,
  useNotifications,
  usePools,
  useRelayersWithQueues,
  useSigners,
  useSponsorships,
} from '../data/resources.ts'
import { useSession } from '../data/session.tsx'

/** What is done with a thing: the button with one of the labels `presses`, on the page `to`. It opens a dialog. */
export interface SearchAction {
  verb: string
  /** By which the verb is also found. */
  keys: string
  to: string
  presses: string[]
  thing: Thing
}

/** `words`: by which it is found, in lower case. */
interface Thing {
  id: string
  kind: string
  icon: LucideIcon
  words: string
  state?: string
}

/** A verb, what it is also found by, and, where they are not as usual, the page and the titles of the dialogs. */
type Verb = readonly [verb: string, keys?: string, to?: string, presses?: string[]]

/** A table shows so many rows, and only their buttons can be pressed. */
const shownRows = 25

/** Everything that the API key can do with the things that there are. */
export function useSearchActions(): SearchAction[] {
  const { may, mayManageAll } = useSession()
  const relayers = useRelayersWithQueues()
  const pools = usePools()
  const sponsorships = useSponsorships()
  const networks = useNetworks()
  const notifications = useNotifications()
  const signers = useSigners()
  const healthOf = useHealthOf()
  const ofRelayer = ({ relayer: { id, paused }, queue }: RelayerRow): Verb[] => [
    ...(may('manage') ? [[paused ? 'Resume' : 'Pause'] as const] : []),
    ...(may('send') ? [['Send from', '', paths.sandboxOf(id)] as const] : []),
    ...(mayManageAll ? [refill(paths.relayer(id), id, 'refill top up balance')] : []),
    ...(may('send') && queue?.unfinished_count ? [['Cancel all unfinished of', 'withdraw'] as const] : []),
    ...(may('manage') ? [edit, ['Drain'] as const, remove] : []),
  ]
  const shared = <Row>(rows: Row[] | undefined, actionsOf: (row: Row) => SearchAction[]) =>
    mayManageAll ? (rows ?? []).flatMap(actionsOf) : []
  return [
    ...sorted(relayers.data).flatMap((row) => {
      const { id, name, network } = row.relayer
      const thing = thingOf('relayer', Wallet, id, `${name} ${network}`, healthOf(row.relayer))
      return actionsOn(thing, paths.relayer(id), ofRelayer(row))
    }),
    ...shared(pools.data, ({ id, name }) => {
      const to = paths.pool(id)
      return actionsOn(thingOf('pool', Layers, id, name), to, [
        edit,
        refill(to, `each relayer of ${id}`, 'refill top up'),
        remove,
      ])
    }),
    ...shared(sponsorships.data?.slice(0, shownRows), ({ id, paused }) =>
      actionsOn(thingOf('sponsorship', Gift, id, '', paused ? 'paused' : 'active'), paths.sponsorships, [
        [paused ? 'Resume' : 'Pause'],
        ['Edit budgets of', 'edit'],
        remove,
      ]),
    ),
    ...shared(networks.data, ({ name }) =>
      actionsOn(thingOf('network', Network, name), paths.networks, [
        ['Edit', 'change'],
        ['Edit nodes of', 'edit rpc'],
        ['Edit private relays of', 'edit'],
        remove,
      ]),
    ),
    ...(notifications.data ?? []).flatMap(({ id }) =>
      actionsOn(thingOf('notification', Bell, id), paths.notification(id), [
        ['Send a test to', 'webhook'],
        ['Edit', 'change webhook'],
        ['Delete', 'remove webhook'],
      ]),
    ),
    ...shared(signers.data?.slice(0, shownRows), ({ id, address }) =>
      actionsOn(thingOf('signer', KeyRound, id, address), paths.signers, [['Delete']]),
    ),
  ]
}

type RelayerRow = NonNullable<ReturnType<typeof useRelayersWithQueues>['data']>[number]

const order = new Intl.Collator('en', { numeric: true })
const sorted = (rows: RelayerRow[] = []) => rows.toSorted((a, b) => order.compare(a.relayer.id, b.relayer.id))

const edit: Verb = ['Edit', 'change rename']
const remove: Verb = ['Delete', 'remove']
const refill = (page: string, whose: string, keys: string): Verb => [
  ...(['Fund', keys, `${page}/funding`] as const),
  [`Set up refills of ${whose}`, `Edit refills of ${whose}`],
]

const thingOf = (kind: string, icon: LucideIcon, id: string, others = '', state?: string): Thing => ({
  ...{ kind, icon, id, words: `${kind} ${id} ${others}`.toLowerCase() },
  ...(state !== undefined && { state }),
})

/** As usual, the buttons are on the page of the thing, and open dialogs such as `Edit pool eu-1` or `Send a test to ops`. */
const actionsOn = (thing: Thing, page: string, verbs: Verb[]): SearchAction[] =>
  verbs.map(([verb, keys = '', to = page, presses]) => {
    const title = / (?:of|to|from)$/.test(verb) ? `${verb} ${thing.id}` : `${verb} ${thing.kind} ${thing.id}`
    return { verb, keys, to, thing, presses: presses ?? [title] }
  })

/** A verb is known by so many of its letters. */
const minLetters = 3

/** Whether a text names the action: some of its words begin the verb, and the others are in the name of the thing. */
export function isAsked({ verb, keys, thing }: SearchAction, text: string): boolean {
  const verbs = `${verb} ${keys}`.toLowerCase().split(' ')
  const asked = text.toLowerCase().split(/\s+/)
  const isVerb = (word: string) => verbs.some((one) => one.startsWith(word))
  return (
    asked.some((word) => word.length >= minLetters && isVerb(word)) &&
    asked.every((word) => isVerb(word) || thing.words.includes(word))
  )
}
