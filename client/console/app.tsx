import { lazy, Suspense, useEffect, useState } from 'react'
import { Link, Redirect, Route, Router, Switch, useLocation } from 'wouter'
import { useHashLocation } from 'wouter/use-hash-location'
import { isUtc, showUtc } from './data/format.ts'
import { SessionProvider, useSession } from './data/session.tsx'
import { Overview } from './pages/overview.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { Skeleton } from './parts/feedback.tsx'
import { Heading } from './parts/heading.tsx'
import { Search } from './parts/search.tsx'
import { ServiceState } from './parts/service-state.tsx'

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
showUtc(localStorage.getItem(zone_key) === 'UTC')

export const App = () => (
  <SessionProvider signIn={(state) => <SignIn {...state} />}>
    <Router hook={useHashLocation}>
      <Shell />
    </Router>
  </SessionProvider>
)

function Shell() {
  const { caller, may, mayManageAll, signOut } = useSession()
  const [path] = useLocation()
  const [inUtc, setInUtc] = useState(isUtc)
  const [isMenuOpen, setMenuOpen] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes the menu
  useEffect(() => setMenuOpen(false), [path])
  return (
    <>
      <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
        Skip to content
      </button>
      <header className="top">
        <strong>Relayer console</strong>
        <button
          type="button"
          className="menu"
          aria-expanded={isMenuOpen}
          aria-controls="pages"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          Menu
        </button>
        {may('read') && <Search />}
        <nav id="pages" aria-label="Pages" className={isMenuOpen ? 'open' : undefined}>
          {may('read') && <Page to="/">Overview</Page>}
          {may('read') && <Page to="/transactions">Transactions</Page>}
          {may('read') && caller.relayer_ids === null && <Page to="/pools">Pools</Page>}
          {may('read') && caller.relayer_ids === null && <Page to="/sponsorships">Sponsorships</Page>}
          {may('read') && <Page to="/spending">Spending</Page>}
          {may('notifications') && <Page to="/notifications">Notifications</Page>}
          {may('read') && <Page to="/networks">Networks</Page>}
          {mayManageAll && <Page to="/signers">Signers</Page>}
          {(may('sign') || may('send')) && <Page to="/sandbox">Sandbox</Page>}
          {caller.may_administer && <Page to="/keys">API keys</Page>}
          {mayManageAll && <Page to="/audit">Audit</Page>}
          {mayManageAll && <Page to="/service">Service</Page>}
        </nav>
        <div className="who">
          <button
            type="button"
            aria-pressed={inUtc}
            title="Shows times in UTC, or in your zone"
            onClick={() => {
              localStorage.setItem(zone_key, inUtc ? 'local' : 'UTC')
              showUtc(!inUtc)
              setInUtc(!inUtc)
            }}
          >
            UTC
          </button>
          <span title={`Scopes: ${caller.scopes.join(', ')}`}>{caller.name ?? caller.id}</span>
          <button type="button" onClick={signOut}>
            Sign out
          </button>
        </div>
      </header>
      <ServiceState />
      <main id="content" tabIndex={-1} key={`${inUtc}`}>
        <Suspense fallback={<Skeleton lines={6} />}>
          <Pages />
        </Suspense>
      </main>
    </>
  )
}

function Pages() {
  const { caller, may, mayManageAll } = useSession()
  const first = may('read') ? undefined : may('notifications') ? '/notifications' : '/sandbox'
  return (
    <Switch>
      <Route path="/">{first === undefined ? <Overview /> : <Redirect to={first} />}</Route>
      <Route path="/relayers/:relayer_id/transactions/:transaction_id">
        {(params) => <Transaction key={params.transaction_id} {...params} />}
      </Route>
      <Route<RelayerPage> path={relayer_pages}>
        {(shown: RelayerPage) => <Relayer key={shown.relayer_id} {...shown} />}
      </Route>
      {may('notifications') && <Route path="/notifications" component={Notifications} />}
      {may('notifications') && (
        <Route path="/notifications/:notification_id">{(params) => <Notification {...params} />}</Route>
      )}
      {may('read') && <Route path="/networks" component={Networks} />}
      {may('read') && <Route path="/spending" component={Spending} />}
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
      {mayManageAll && <Route path="/audit/:find?">{({ find }: { find?: string }) => <Audit find={find} />}</Route>}
      <Route>
        <Heading name="Page not found" />
        <p>
          This page does not exist, or your API key has no access to it. <Link to="/">Go to the overview</Link>
        </p>
      </Route>
    </Switch>
  )
}

/** The filters of a list. */
type ListPage = { group?: string; find?: string }
type RelayerPage = ListPage & { relayer_id: string; tab?: string }
type PoolPage = ListPage & { pool_id: string; tab?: string }

const relayer_pages = '/relayers/:relayer_id/:tab?/:group?/:find?'

function Page({ to, children }: { to: string; children: string }) {
  const [path] = useLocation()
  const isHere = to === '/' ? path === '/' || path.startsWith('/relayers') : path.startsWith(to)
  return (
    <Link to={to} aria-current={isHere ? 'page' : undefined}>
      {children}
    </Link>
  )
}
