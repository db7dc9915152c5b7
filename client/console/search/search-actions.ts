import { Bell, Gift, KeyRound, Layers, type LucideIcon, Network, Wallet } from 'lucide-react'
import type { Relayer, Sponsorship } from '../../index.ts'
import { paths } from '../data/paths.ts'
import {
  relayerState,
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
  keys?: string
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

type Own = Omit<SearchAction, 'thing'>

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
  const rights = { manages: may('manage'), sends: may('send'), funds: mayManageAll }
  const shared = <Row>(rows: Row[] | undefined, actionsOf: (row: Row) => SearchAction[]) =>
    mayManageAll ? (rows ?? []).flatMap(actionsOf) : []
  return [
    ...sorted(relayers.data).flatMap(({ relayer, queue }) =>
      withThing(
        thingOf('relayer', Wallet, relayer.id, `${relayer.name} ${relayer.network}`, relayerState(relayer)),
        ofRelayer(relayer, (queue?.unfinished ?? 0) > 0, rights),
      ),
    ),
    ...shared(pools.data, ({ id, name }) => withThing(thingOf('pool', Layers, id, name), ofPool(id))),
    ...shared(sponsorships.data?.slice(0, shownRows), (its) =>
      withThing(thingOf('sponsorship', Gift, its.id, '', its.paused ? 'paused' : 'active'), ofSponsorship(its)),
    ),
    ...shared(networks.data, ({ name }) => withThing(thingOf('network', Network, name), ofNetwork(name))),
    ...(notifications.data ?? []).flatMap(({ id }) => withThing(thingOf('notification', Bell, id), ofNotification(id))),
    ...shared(signers.data?.slice(0, shownRows), ({ id, address }) =>
      withThing(thingOf('signer', KeyRound, id, address), [
        { verb: 'Delete', to: paths.signers, presses: [`Delete signer ${id}`] },
      ]),
    ),
  ]
}

const order = new Intl.Collator('en', { numeric: true })
const sorted = (rows: ReturnType<typeof useRelayersWithQueues>['data'] = []) =>
  rows.toSorted((a, b) => order.compare(a.relayer.id, b.relayer.id))

const thingOf = (kind: string, icon: LucideIcon, id: string, others = '', state?: string): Thing => ({
  ...{ kind, icon, id, words: `${kind} ${id} ${others}`.toLowerCase() },
  ...(state !== undefined && { state }),
})

const withThing = (thing: Thing, actions: Own[]): SearchAction[] => actions.map((its) => ({ ...its, thing }))

function ofRelayer(
  { id, paused }: Relayer,
  isWaiting: boolean,
  { manages, sends, funds }: Record<'manages' | 'sends' | 'funds', boolean>,
): Own[] {
  const to = paths.relayer(id)
  const pause = paused ? 'Resume' : 'Pause'
  const refills = `refills of ${id}`
  const actions: (Own | false)[] = [
    manages && { verb: pause, to, presses: [`${pause} relayer ${id}`] },
    sends && { verb: 'Send from', to: paths.sandboxOf(id), presses: [`Send from ${id}`] },
    funds && {
      ...{ verb: 'Fund', keys: 'refill top up balance', to: `${to}/funding` },
      presses: [`Set up ${refills}`, `Edit ${refills}`],
    },
    sends &&
      isWaiting && { verb: 'Cancel all pending of', keys: 'withdraw', to, presses: [`Cancel all pending of ${id}`] },
    manages && { verb: 'Edit', keys: 'change rename', to, presses: [`Edit relayer ${id}`] },
    manages && { verb: 'Drain', to, presses: [`Drain relayer ${id}`] },
    manages && { verb: 'Delete', keys: 'remove', to, presses: [`Delete relayer ${id}`] },
  ]
  return actions.filter((one) => one !== false)
}

function ofPool(id: string): Own[] {
  const to = paths.pool(id)
  const refills = `refills of each relayer of ${id}`
  return [
    { verb: 'Edit', keys: 'change rename', to, presses: [`Edit pool ${id}`] },
    { verb: 'Fund', keys: 'refill top up', to: `${to}/funding`, presses: [`Set up ${refills}`, `Edit ${refills}`] },
    { verb: 'Delete', keys: 'remove', to, presses: [`Delete pool ${id}`] },
  ]
}

function ofSponsorship({ id, paused }: Sponsorship): Own[] {
  const to = paths.sponsorships
  const pause = paused ? 'Resume' : 'Pause'
  return [
    { verb: pause, to, presses: [`${pause} sponsorship ${id}`] },
    { verb: 'Change budgets of', keys: 'edit', to, presses: [`Change budgets of ${id}`] },
    { verb: 'Delete', keys: 'remove', to, presses: [`Delete sponsorship ${id}`] },
  ]
}

function ofNetwork(name: string): Own[] {
  const to = paths.networks
  return [
    { verb: 'Edit', keys: 'change', to, presses: [`Edit network ${name}`] },
    { verb: 'Change nodes of', keys: 'edit rpc', to, presses: [`Change nodes of ${name}`] },
    { verb: 'Change private relays of', keys: 'edit', to, presses: [`Change private relays of ${name}`] },
    { verb: 'Delete', keys: 'remove', to, presses: [`Delete network ${name}`] },
  ]
}

function ofNotification(id: string): Own[] {
  const to = paths.notification(id)
  return [
    { verb: 'Send a test to', keys: 'webhook', to, presses: [`Send a test to ${id}`] },
    { verb: 'Edit', keys: 'change webhook', to, presses: [`Edit notification ${id}`] },
    { verb: 'Delete', keys: 'remove webhook', to, presses: [`Delete notification ${id}`] },
  ]
}

/** A verb is known by so many of its letters. */
const minLetters = 3

/** Whether a text names the action: some of its words begin the verb, and the others are in the name of the thing. */
export function isAsked({ verb, keys = '', thing }: SearchAction, text: string): boolean {
  const verbs = `${verb} ${keys}`.toLowerCase().split(' ')
  const asked = text.toLowerCase().split(/\s+/)
  const isVerb = (word: string) => verbs.some((one) => one.startsWith(word))
  return (
    asked.some((word) => word.length >= minLetters && isVerb(word)) &&
    asked.every((word) => isVerb(word) || thing.words.includes(word))
  )
}
