import { Clock, LogOut, Menu, Waypoints } from 'lucide-react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { Redirect, Route, Router, Switch, useLocation } from 'wouter'
import { useHashLocation } from 'wouter/use-hash-location'
import { Boundary, Skeleton } from './components/feedback.tsx'
import { Segments } from './components/filters.tsx'
import { Messages } from './components/messages.tsx'
import {
  decoded,
  type Find,
  type ListPage,
  type NotificationPage,
  type PoolPage,
  paths,
  type RelayerPage,
  routes,
} from './data/paths.ts'
import { SessionProvider, useSession } from './data/session.tsx'
import { browser } from './data/storage.ts'
import { hereShortly, isUtc, showUtc } from './data/times.ts'
import { MissingPage, PageLink, usePages, useRights, useTargets } from './navigation.tsx'
import { Overview } from './overview/overview.tsx'
import { RelayerList } from './relayers/relayers.tsx'
import { Search } from './search/search.tsx'
import { ServiceState } from './service/service-state.tsx'
import { SignIn } from './sign-in.tsx'

const Relayer = lazy(async () => ({ default: (await import('./relayers/relayer.tsx')).RelayerPage }))
const Transaction = lazy(async () => ({ default: (await import('./transactions/transaction.tsx')).TransactionPage }))
const Notifications = lazy(async () => ({ default: (await import('./notifications/notifications.tsx')).Notifications }))
const Notification = lazy(async () => ({ default: (await import('./notifications/notification.tsx')).Notification }))
const ApiKeys = lazy(async () => ({ default: (await import('./api-keys/api-keys.tsx')).ApiKeys }))
const ApiKey = lazy(async () => ({ default: (await import('./api-keys/api-key.tsx')).ApiKeyPage }))
const Audit = lazy(async () => ({ default: (await import('./audit/audit.tsx')).Audit }))
const Networks = lazy(async () => ({ default: (await import('./networks/networks.tsx')).Networks }))
const Network = lazy(async () => ({ default: (await import('./networks/networks.tsx')).NetworkPage }))
const Pools = lazy(async () => ({ default: (await import('./pools/pools.tsx')).Pools }))
const Pool = lazy(async () => ({ default: (await import('./pools/pool.tsx')).Pool }))
const Sponsorships = lazy(async () => ({ default: (await import('./sponsorships/sponsorships.tsx')).Sponsorships }))
const Facilitators = lazy(async () => ({ default: (await import('./facilitators/facilitators.tsx')).Facilitators }))
const Facilitator = lazy(async () => ({ default: (await import('./facilitators/facilitator.tsx')).FacilitatorPage }))
const Transactions = lazy(async () => ({ default: (await import('./transactions/transactions.tsx')).TransactionsPage }))
const Spending = lazy(async () => ({ default: (await import('./spending/spending.tsx')).Spending }))
const Service = lazy(async () => ({ default: (await import('./service/service.tsx')).Service }))
const Signers = lazy(async () => ({ default: (await import('./signers/signers.tsx')).Signers }))
const Sandbox = lazy(async () => ({ default: (await import('./sandbox/sandbox.tsx')).Sandbox }))

const here = hereShortly()
showUtc(browser.get('zone') === 'UTC')

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
    browser.set('zone', zone)
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
          <span title={`Scopes: ${caller.scopes.join(', ')}`}>
            {caller.name === null ? 'Environment key' : `API key: ${caller.name}`}
          </span>
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
      <Messages />
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
  const has = useRights()
  const first = has('read') ? undefined : has('notifications') ? paths.notifications : paths.sandbox
  return (
    <Switch>
      <Route<Find> path={routes.overview}>
        {(page: Find) => (first === undefined ? <Overview {...page} /> : <Redirect to={first} />)}
      </Route>
      <Route path={routes.transaction}>{(page) => <Transaction key={page.transaction_id} {...page} />}</Route>
      <Route path={routes.oldRelayers}>
        <Redirect to={paths.relayers} />
      </Route>
      {has('read') && <Route<Find> path={routes.relayers}>{(page: Find) => <RelayerList {...page} />}</Route>}
      <Route<RelayerPage> path={routes.relayer}>
        {(page: RelayerPage) => <Relayer key={page.relayer_id} {...page} />}
      </Route>
      {has('notifications') && <Route path={paths.notifications} component={Notifications} />}
      {has('notifications') && (
        <Route<NotificationPage> path={routes.notification}>
          {(page: NotificationPage) => <Notification key={page.notification_id} {...page} />}
        </Route>
      )}
      {has('read') && <Route path={paths.networks} component={Networks} />}
      {has('read') && (
        <Route path={routes.network}>
          {(page) => <Network key={page.network_id} network_id={decoded(page.network_id)} />}
        </Route>
      )}
      {has('read') && <Route<Find> path={routes.spending}>{(page: Find) => <Spending {...page} />}</Route>}
      <Route<ListPage> path={routes.transactions}>{(page: ListPage) => <Transactions {...page} />}</Route>
      {has('read all') && <Route path={paths.pools} component={Pools} />}
      {has('read all') && <Route path={paths.sponsorships} component={Sponsorships} />}
      {has('read all') && <Route path={paths.facilitators} component={Facilitators} />}
      {has('read all') && (
        <Route path={routes.facilitator}>{(page) => <Facilitator key={page.facilitator_id} {...page} />}</Route>
      )}
      <Route<PoolPage> path={routes.pool}>{(page: PoolPage) => <Pool key={page.pool_id} {...page} />}</Route>
      {has('sign or send') && <Route path={routes.sandbox} component={Sandbox} />}
      {has('manage all') && <Route path={paths.signers} component={Signers} />}
      {has('administer') && <Route path={paths.apiKeys} component={ApiKeys} />}
      {has('administer') && <Route path={routes.apiKey}>{(page) => <ApiKey key={page.api_key_id} {...page} />}</Route>}
      {has('manage all') && <Route path={paths.service} component={Service} />}
      {has('manage all') && <Route<Find> path={routes.audit}>{(page: Find) => <Audit {...page} />}</Route>}
      <Route>
        <MissingPage />
      </Route>
    </Switch>
  )
}
