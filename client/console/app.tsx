import { Clock, LogOut, Menu, Waypoints } from 'lucide-react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { Redirect, Route, Router, Switch, useLocation } from 'wouter'
import { useHashLocation } from 'wouter/use-hash-location'
import { callerName } from './data/names.ts'
import { SessionProvider, useSession } from './data/session.tsx'
import { hereShortly, isUtc, showUtc } from './data/times.ts'
import { Overview, RelayerList } from './pages/overview.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { Boundary } from './parts/boundary.tsx'
import { Skeleton } from './parts/feedback.tsx'
import { MissingPage } from './parts/missing.tsx'
import { PageLink, usePages, useTargets } from './parts/navigation.tsx'
import { Search } from './parts/search.tsx'
import { Segments } from './parts/segments.tsx'
import { ServiceState } from './parts/service-state.tsx'
import { Toasts } from './parts/toasts.tsx'

const Relayer = lazy(async () => ({ default: (await import('./pages/relayer.tsx')).Relayer }))
const Transaction = lazy(async () => ({ default: (await import('./pages/transaction.tsx')).Transaction }))
const Notifications = lazy(async () => ({ default: (await import('./pages/notifications.tsx')).Notifications }))
const Notification = lazy(async () => ({ default: (await import('./pages/notification.tsx')).Notification }))
const ApiKeys = lazy(async () => ({ default: (await import('./pages/api-keys.tsx')).ApiKeys }))
const Audit = lazy(async () => ({ default: (await import('./pages/audit.tsx')).Audit }))
const Networks = lazy(async () => ({ default: (await import('./pages/networks.tsx')).Networks }))
const Pools = lazy(async () => ({ default: (await import('./pages/pools.tsx')).Pools }))
const Pool = lazy(async () => ({ default: (await import('./pages/pool.tsx')).Pool }))
const Sponsorships = lazy(async () => ({ default: (await import('./pages/sponsorships.tsx')).Sponsorships }))
const Transactions = lazy(async () => ({ default: (await import('./pages/transactions.tsx')).Transactions }))
const Spending = lazy(async () => ({ default: (await import('./pages/spending.tsx')).Spending }))
const Service = lazy(async () => ({ default: (await import('./pages/service.tsx')).Service }))
const Signers = lazy(async () => ({ default: (await import('./pages/signers.tsx')).Signers }))
const Sandbox = lazy(async () => ({ default: (await import('./pages/sandbox.tsx')).Sandbox }))

const zone_key = 'zone'
const here = hereShortly()
showUtc(localStorage.getItem(zone_key) === 'UTC')

export const App = () => (
  <SessionProvider signIn={(state) => <SignIn {...state} />}>
    <Router hook={useHashLocation}>
      <Shell />
    </Router>
  </SessionProvider>
)

function Shell() {
  const { caller, may, signOut } = useSession()
  const pages = usePages()
  const [path] = useLocation()
  const [inUtc, setInUtc] = useState(isUtc)
  const [isMenuOpen, setMenuOpen] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes the menu
  useEffect(() => setMenuOpen(false), [path])
  function showIn(zone: 'local' | 'UTC') {
    localStorage.setItem(zone_key, zone)
    showUtc(zone === 'UTC')
    setInUtc(zone === 'UTC')
  }
  const targets = useTargets(
    pages.flatMap(([, its]) => its),
    [
      ...(here === 'UTC' ? [] : [zoneTarget(inUtc, showIn)]),
      { name: 'Sign out', about: 'ends the session', icon: LogOut, keys: 'log out logout', open: signOut },
    ],
  )
  return (
    <>
      <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
        Skip to content
      </button>
      <header className="top">
        <strong className="brand">
          <Waypoints className="icon" aria-hidden />
          <span>Relayer console</span>
        </strong>
        {may('read') && <Search targets={targets} />}
        <button
          type="button"
          className="menu"
          aria-expanded={isMenuOpen}
          aria-controls="pages"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Menu className="icon" aria-hidden />
          Menu
        </button>
        <nav id="pages" aria-label="Pages" className={isMenuOpen ? 'open' : undefined}>
          {pages.map(([name, its]) => (
            <div key={name}>
              {name !== '' && <h2>{name}</h2>}
              {its.map((page) => (
                <PageLink key={page.to} {...page} />
              ))}
            </div>
          ))}
        </nav>
        <div className="who">
          <span title={`Scopes: ${caller.scopes.join(', ')}`}>API key: {caller.name ?? callerName(caller.id)}</span>
          {here !== 'UTC' && (
            <Segments
              label="Time zone"
              values={['local', 'UTC']}
              texts={{ local: here }}
              value={inUtc ? 'UTC' : 'local'}
              choose={showIn}
            />
          )}
          <button type="button" onClick={signOut} aria-label="Sign out">
            <LogOut className="icon" aria-hidden />
            <span>Sign out</span>
          </button>
        </div>
      </header>
      <ServiceState />
      <main id="content" tabIndex={-1} key={`${inUtc}`}>
        <Boundary place={path}>
          <Suspense fallback={<Opening name={pages.flatMap(([, its]) => its).find(({ to }) => to === path)?.name} />}>
            <Pages />
          </Suspense>
        </Boundary>
      </main>
      <Toasts />
    </>
  )
}

/** A page whose program is being loaded: its heading is there before. */
const Opening = ({ name }: { name: string | undefined }) => (
  <>
    {name !== undefined && <h1>{name}</h1>}
    <Skeleton lines={6} as="card" />
  </>
)

const zoneTarget = (inUtc: boolean, showIn: (zone: 'local' | 'UTC') => void) => ({
  ...{ name: `Show times in ${inUtc ? here : 'UTC'}`, about: 'time zone', keys: 'zone clock', icon: Clock },
  open: () => showIn(inUtc ? 'local' : 'UTC'),
})

function Pages() {
  const { caller, may, mayManageAll } = useSession()
  const first = may('read') ? undefined : may('notifications') ? '/notifications' : '/sandbox'
  return (
    <Switch>
      <Route<Find> path={overview}>
        {({ find }: Find) => (first === undefined ? <Overview find={find} /> : <Redirect to={first} />)}
      </Route>
      <Route path="/relayers/:relayer_id/transactions/:transaction_id">
        {(params) => <Transaction key={params.transaction_id} {...params} />}
      </Route>
      <Route path="/relayers">
        <Redirect to="/relayer-list" />
      </Route>
      {may('read') && (
        <Route<Find> path="/relayer-list/:find?">{({ find }: Find) => <RelayerList find={find} />}</Route>
      )}
      <Route<RelayerPage> path={relayer_pages}>
        {(shown: RelayerPage) => <Relayer key={shown.relayer_id} {...shown} />}
      </Route>
      {may('notifications') && <Route path="/notifications" component={Notifications} />}
      {may('notifications') && (
        <Route<NotificationPage> path="/notifications/:notification_id/:find?">
          {(shown: NotificationPage) => <Notification key={shown.notification_id} {...shown} />}
        </Route>
      )}
      {may('read') && <Route path="/networks" component={Networks} />}
      {may('read') && <Route<Find> path="/spending/:find?">{({ find }: Find) => <Spending find={find} />}</Route>}
      <Route<ListPage> path="/transactions/:group?/:find?">{(shown: ListPage) => <Transactions {...shown} />}</Route>
      {may('read') && caller.relayer_ids === null && <Route path="/pools" component={Pools} />}
      {may('read') && caller.relayer_ids === null && <Route path="/sponsorships" component={Sponsorships} />}
      <Route<PoolPage> path="/pools/:pool_id/:tab?/:group?/:find?">
        {(shown: PoolPage) => <Pool key={shown.pool_id} {...shown} />}
      </Route>
      {(may('sign') || may('send')) && <Route path="/sandbox/:relayer_id?/:transaction_id?" component={Sandbox} />}
      {mayManageAll && <Route path="/signers" component={Signers} />}
      {caller.may_administer && <Route path="/keys" component={ApiKeys} />}
      {mayManageAll && <Route path="/service" component={Service} />}
      {mayManageAll && <Route<Find> path="/audit/:find?">{({ find }: Find) => <Audit find={find} />}</Route>}
      <Route>
        <MissingPage />
      </Route>
    </Switch>
  )
}

/** What was chosen on a page. */
type Find = { find?: string }
const overview = /^\/(?:overview(?:\/(?<find>[^/]+))?)?$/

/** The filters of a list. */
type ListPage = { group?: string; find?: string }
type NotificationPage = Find & { notification_id: string }
type RelayerPage = ListPage & { relayer_id: string; tab?: string }
type PoolPage = ListPage & { pool_id: string; tab?: string }

const relayer_pages = '/relayers/:relayer_id/:tab?/:group?/:find?'
