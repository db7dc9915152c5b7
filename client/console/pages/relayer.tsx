import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { Relayer as Its } from '../../index.ts'
import { count } from '../data/format.ts'
import { relayerState, useExplorer, useStatus } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { useLive } from '../data/transactions.ts'
import { ActivityCharts } from '../parts/activity.tsx'
import { Badge } from '../parts/badge.tsx'
import { Balance } from '../parts/balance.tsx'
import { Callout, Problem } from '../parts/callout.tsx'
import { Events } from '../parts/events.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Figure } from '../parts/figure.tsx'
import { Funding } from '../parts/funding.tsx'
import { Heading } from '../parts/heading.tsx'
import { Copyable, ExplorerLink, relayerPath } from '../parts/links.tsx'
import { isMissing, Missing } from '../parts/missing.tsx'
import { Nonces } from '../parts/nonces.tsx'
import { Policies } from '../parts/policies.tsx'
import { RelayerActions } from '../parts/relayer-forms.tsx'
import { RelayerTroubles, useStuck } from '../parts/relayer-troubles.tsx'
import { LastsOf } from '../parts/runway.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { Transactions } from '../parts/transactions.tsx'

const poll_ms = 5_000
const base = '/api/v1/relayers/{relayer_id}'
const tabs = {
  list: 'transactions',
  nonces: 'nonces',
  policies: 'policies',
  funding: 'funding',
  events: 'events',
  activity: 'activity',
}

/** A relayer: its address and state, and tabs for transactions, nonces, policies, funding, events and activity. */
export function Relayer({
  relayer_id,
  tab = 'list',
  group,
  find,
}: {
  relayer_id: string
  tab?: string | undefined
  /** The filters of the list. */
  group?: string | undefined
  find?: string | undefined
}) {
  const { client, caller } = useSession()
  const path = { relayer_id }
  // Its treasury is another relayer.
  const { funding: _, ...withoutFunding } = tabs
  const shownTabs = caller.relayer_ids === null ? tabs : withoutFunding
  useLive(relayer_id)
  const relayer = useQuery({
    queryKey: ['relayer', relayer_id],
    queryFn: async ({ signal }) => (await client.get(base, { path, signal })).data,
    refetchInterval: poll_ms,
  })
  if (isMissing(relayer.error)) return <Missing what={`Relayer ${relayer_id}`} to="/relayer-list" list="the relayers" />
  return (
    <>
      <Title relayer_id={relayer_id} its={relayer.data} />
      <Loaded query={relayer} lines={4} as="tiles">
        {(its) => (
          <>
            <Head its={its} />
            <Tabs label="Relayer pages" base={relayerPath(relayer_id)} tabs={shownTabs} open={tab} />
            {tab === 'nonces' && <Nonces relayer={its} />}
            {tab === 'policies' && <Policies relayer={its} />}
            {tab === 'funding' && <Funding relayer={its} />}
            {tab === 'events' && <Events relayer_id={relayer_id} />}
            {tab === 'activity' && (
              <ActivityCharts
                relayer_id={relayer_id}
                its={its.network}
                here={`${relayerPath(relayer_id)}/activity`}
                find={group}
              />
            )}
          </>
        )}
      </Loaded>
      {/* It keeps its place in the list while other tabs are open. */}
      <div hidden={tab !== 'list'}>
        <Transactions place={path} here={`${relayerPath(relayer_id)}/list`} group={group} find={find} />
      </div>
    </>
  )
}

/** Its ID is known before the rest of it. */
function Title({ relayer_id, its }: { relayer_id: string; its: Its | undefined }) {
  return (
    <>
      <p className="crumbs">
        <Link to="/relayer-list">Relayers</Link> / {relayer_id}
        {its && its.name !== relayer_id && `, ${its.name}`}
      </p>
      <div className="bar">
        <Heading name={relayer_id} opened={its && { kind: 'relayer', name: relayer_id, to: relayerPath(relayer_id) }}>
          {relayer_id} {its && <Badge state={relayerState(its)} />}
        </Heading>
        {its && <RelayerActions its={its} />}
      </div>
    </>
  )
}

function Head({ its }: { its: Its }) {
  const { id, address, network, paused, system_disabled, disabled_reason, custom_rpc_urls, warnings = [] } = its
  const explorer = useExplorer(network)
  const status = useStatus(id, poll_ms)
  const stuck = useStuck(id)?.reason
  return (
    <div className="head">
      <p className="hint copyable">
        <Copyable value={address} whole /> <ExplorerLink to={explorer('address', address)} what="Address" />
        <span>Send funds here.</span>
      </p>
      {system_disabled && (
        <Problem>
          The service disabled it: {disabled_reason} The cause is usually with its nodes:{' '}
          <Link to="/networks">open the nodes</Link>, or repair its <Link to={`${relayerPath(id)}/nonces`}>nonces</Link>
          .
        </Problem>
      )}
      {paused && !system_disabled && (
        <Callout of="info">This relayer is paused: it signs and sends nothing until it is resumed.</Callout>
      )}
      <RelayerTroubles relayer_id={id} />
      {warnings.map((warning) => (
        <Callout of="warning" key={warning}>
          {warning}
        </Callout>
      ))}
      <dl className="figures">
        <Figure name="Balance">
          <Balance relayer_id={id} network={network} />
        </Figure>
        <Figure name="Lasts">
          <LastsOf relayer_id={id} none="no fees in 7 days" />
        </Figure>
        <Figure name="Unfinished">
          <span className={stuck && 'warn-text'} title={stuck}>
            {status.data ? count(status.data.pending_transactions_count) : '…'}
          </span>
        </Figure>
        <Figure name="Next nonce">{status.data?.nonce ?? '…'}</Figure>
        <Figure name="Network">
          {network}
          {custom_rpc_urls.length > 0 && ', with nodes of its own'}
        </Figure>
      </dl>
    </div>
  )
}
