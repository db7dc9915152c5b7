import {
  Activity,
  ArrowLeftRight,
  Bell,
  Coins,
  FlaskConical,
  Gift,
  HandCoins,
  Key,
  KeyRound,
  Layers,
  LayoutDashboard,
  type LucideIcon,
  Network,
  Plus,
  ScrollText,
  Wallet,
} from 'lucide-react'
import { Link, useLocation } from 'wouter'
import type { ScopeInput } from '../index.ts'
import { Missing } from './components/page.tsx'
import { pageOf, paths } from './data/paths.ts'
import { press } from './data/press-button.ts'
import { useOpenProblems } from './data/resources.ts'
import { useSession } from './data/session.tsx'
import type { Target } from './search/palette.tsx'

/** What an API key needs for a page: a scope, or one of two; `all`: for every relayer. */
type Right = 'read' | 'read all' | 'notifications' | 'sign or send' | 'manage all' | 'administer'

/** `create`: the label of its button, if the API key may use it. */
interface Page {
  to: string
  name: string
  icon: LucideIcon
  create?: string | false | undefined
}

/** By the heading of their group. `create`: the label of the button, for keys with that right. */
const groups: Record<string, (Page & { needs: Right; create?: string; creates?: Right })[]> = {
  '': [
    { to: paths.overview, name: 'Overview', icon: LayoutDashboard, needs: 'read' },
    { to: paths.transactions, name: 'Transactions', icon: ArrowLeftRight, needs: 'read' },
    { to: paths.relayers, name: 'Relayers', icon: Wallet, needs: 'read', create: 'Create a relayer' },
    {
      ...{ to: paths.notifications, name: 'Notifications', icon: Bell, needs: 'notifications' },
      ...{ create: 'Create a notification', creates: 'notifications' },
    },
    { to: paths.spending, name: 'Spending', icon: Coins, needs: 'read' },
    { to: paths.sandbox, name: 'Sandbox', icon: FlaskConical, needs: 'sign or send' },
  ],
  Resources: [
    { to: paths.pools, name: 'Pools', icon: Layers, needs: 'read all', create: 'Create a pool' },
    { to: paths.sponsorships, name: 'Sponsorships', icon: Gift, needs: 'read all', create: 'Create a sponsorship' },
    {
      to: paths.facilitators,
      name: 'Facilitators',
      icon: HandCoins,
      needs: 'read all',
      create: 'Create a facilitator',
    },
    { to: paths.networks, name: 'Networks', icon: Network, needs: 'read', create: 'Add a network' },
    { to: paths.signers, name: 'Signers', icon: KeyRound, needs: 'manage all', create: 'Create a signer' },
  ],
  Administration: [
    {
      ...{ to: paths.apiKeys, name: 'API keys', icon: Key, needs: 'administer' },
      ...{ create: 'Create an API key', creates: 'administer' },
    },
    { to: paths.audit, name: 'Audit', icon: ScrollText, needs: 'manage all' },
    { to: paths.service, name: 'Service', icon: Activity, needs: 'manage all' },
  ],
}

/** Whether the API key has a right. */
export function useRights(): (right: Right) => boolean {
  const { caller, may, mayManageAll, mayReadAll } = useSession()
  const has: Record<Right, boolean> = {
    read: may('read'),
    'read all': mayReadAll,
    notifications: may('notifications'),
    'sign or send': may('sign') || may('send'),
    'manage all': mayManageAll,
    administer: caller.may_administer,
  }
  return (right) => has[right]
}

/** What the search finds beside what the service knows. */
export function useTargets(pages: Page[], actions: Target[]): Target[] {
  const [, go] = useLocation()
  return [
    ...pages.map(({ to, name, icon }) => ({ name, about: 'page', icon, to, open: () => go(to) })),
    ...pages.flatMap(({ to, name, create }) => {
      if (!create) return []
      const open = () => {
        go(to)
        press(create)
      }
      return [{ name: create, about: 'opens the form', icon: Plus, keys: `new create add ${name}`, open }]
    }),
    ...lists.map(([group, name, keys]) => {
      const to = paths.group(paths.transactions, group)
      return { name: `${name} transactions`, about: 'list', icon: ArrowLeftRight, keys, to, open: () => go(to) }
    }),
    ...actions,
  ]
}

/** Groups of the list of transactions, the states that are in them, and what is done there. */
const lists = [
  ['unfinished', 'Unfinished', 'pending sent submitted mined waiting stuck slow speed up cancel'],
  ['confirmed', 'Confirmed', ''],
  ['failed', 'Failed', ''],
  ['withdrawn', 'Withdrawn', 'canceled cancelled expired'],
] as const

/** The pages that the API key has something on, in their groups. */
export function usePages(): [string, Page[]][] {
  const has = useRights()
  return Object.entries(groups)
    .map(([name, pages]): [string, Page[]] => [
      name,
      pages
        .filter(({ needs }) => has(needs))
        .map(({ create, creates = 'manage all', ...its }) => ({ ...its, create: has(creates) && create })),
    ])
    .filter(([, its]) => its.length > 0)
}

/** In the place of an unknown page, or of one that the API key may not see. */
export function MissingPage() {
  const { may, caller } = useSession()
  const [path] = useLocation()
  const page = Object.values(groups)
    .flat()
    .find(({ to }) => to === path.split('/', 2).join('/'))
  return <Missing what="Page" to={paths.overview} list="the overview" why={page && reason(page.needs)} />

  function reason(needs: Right): string | undefined {
    if (needs === 'administer') return 'Your API key lacks a right: only a key that has every scope manages API keys.'
    const scopes = needs.replace(' all', '').split(' or ') as ScopeInput[]
    if (!scopes.some(may)) return `Your API key lacks the scope “${scopes.join('” or “')}”.`
    return caller.relayer_ids === null
      ? undefined
      : 'Your API key is limited to some relayers, and this page is of all.'
  }
}

/** A page in the navigation; the overview with the number of what needs attention. */
export function PageLink({ to, name, icon: Icon }: Page) {
  const [path] = useLocation()
  const open = useOpenProblems()
  return (
    <Link to={to} aria-current={to === pageOf(path) ? 'page' : undefined}>
      <Icon className="icon" aria-hidden />
      {name}
      {to === '/' && open > 0 && <span className="badge count bad" data-count={open} aria-hidden />}
    </Link>
  )
}
