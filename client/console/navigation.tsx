import {
  Activity,
  ArrowLeftRight,
  Bell,
  Coins,
  FlaskConical,
  Gift,
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
import { pageOf, paths } from './data/paths.ts'
import { press } from './data/press-button.ts'
import { useOpenProblems } from './data/resources.ts'
import { useSession } from './data/session.tsx'
import type { Target } from './search/palette.tsx'

/** `create`: the label of its button, if the API key may use it. */
interface Page {
  to: string
  name: string
  icon: LucideIcon
  create?: string | false
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
      return [{ name: create, about: 'opens the form', icon: Plus, keys: `new ${name}`, open }]
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
  const { caller, may, mayManageAll, mayReadAll } = useSession()
  const groups: [string, (Page | false)[]][] = [
    [
      '',
      [
        may('read') && { to: paths.overview, name: 'Overview', icon: LayoutDashboard },
        may('read') && { to: paths.transactions, name: 'Transactions', icon: ArrowLeftRight },
        may('read') && {
          ...{ to: paths.relayers, name: 'Relayers', icon: Wallet },
          create: mayManageAll && 'Create a relayer',
        },
        may('notifications') && {
          ...{ to: paths.notifications, name: 'Notifications', icon: Bell },
          create: 'Create a notification',
        },
        may('read') && { to: paths.spending, name: 'Spending', icon: Coins },
        (may('sign') || may('send')) && { to: paths.sandbox, name: 'Sandbox', icon: FlaskConical },
      ],
    ],
    [
      'Resources',
      [
        mayReadAll && { to: paths.pools, name: 'Pools', icon: Layers, create: mayManageAll && 'Create a pool' },
        mayReadAll && {
          to: paths.sponsorships,
          name: 'Sponsorships',
          icon: Gift,
          create: mayManageAll && 'Create a sponsorship',
        },
        may('read') && {
          to: paths.networks,
          name: 'Networks',
          icon: Network,
          create: mayManageAll && 'Create a network',
        },
        mayManageAll && { to: paths.signers, name: 'Signers', icon: KeyRound, create: 'Create a signer' },
      ],
    ],
    [
      'Administration',
      [
        caller.may_administer && { to: paths.apiKeys, name: 'API keys', icon: Key, create: 'Create an API key' },
        mayManageAll && { to: paths.audit, name: 'Audit', icon: ScrollText },
        mayManageAll && { to: paths.service, name: 'Service', icon: Activity },
      ],
    ],
  ]
  return groups
    .map(([name, its]): [string, Page[]] => [name, its.filter((one) => one !== false)])
    .filter(([, its]) => its.length > 0)
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
