import { Link } from 'wouter'
import type { Relayer } from '../../index.ts'
import { ActivityCharts } from '../activity/activity.tsx'
import { Action } from '../components/action.tsx'
import { Address } from '../components/address.tsx'
import { changedIn, useEdited } from '../components/edited.tsx'
import { Entries } from '../components/entries.tsx'
import { Callout, Loaded, Problem } from '../components/feedback.tsx'
import { Field, NotificationChecks, nodeParts, Select } from '../components/fields.tsx'
import { Menu } from '../components/menu.tsx'
import { Crumbs, Heading, isMissing, Missing, Tabs } from '../components/page.tsx'
import { about, Badge, Figures, NetworkLink, Pending, RelayerLink } from '../components/values.tsx'
import { nodesOf, useForm } from '../data/form.ts'
import { count } from '../data/format.ts'
import { paths, type RelayerTab, type RelayerPage as Shown } from '../data/paths.ts'
import { useHealthOf, useRelayer, useStatus, useStuck } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { useLive } from '../transactions/read-transactions.ts'
import { FilteredTransactions } from '../transactions/transactions.tsx'
import { Events } from './events.tsx'
import { RelayerFunding } from './funding.tsx'
import { Balance } from './funds.tsx'
import { Nonces } from './nonces.tsx'
import { Policies } from './policies.tsx'
import { RelayerTroubles } from './relayer-troubles.tsx'

const pollMs = 5_000
const tabs: Record<RelayerTab, string> = {
  list: 'transactions',
  nonces: 'nonces',
  policies: 'policies',
  funding: 'funding',
  events: 'events',
  activity: 'activity',
}

/** A relayer: its address and state, and tabs for transactions, nonces, policies, funding, events and activity. */
export function RelayerPage({ relayer_id, tab = 'list', group, find }: Shown) {
  const { caller } = useSession()
  // Its treasury is another relayer.
  const { funding: _, ...withoutFunding } = tabs
  useLive(relayer_id)
  const relayer = useRelayer(relayer_id, pollMs)
  if (isMissing(relayer.error))
    return <Missing what={`Relayer ${relayer_id}`} to={paths.relayers} list="the relayers" />
  return (
    <>
      <Title relayer_id={relayer_id} relayer={relayer.data} />
      <Loaded query={relayer} lines={4} as="tiles">
        {(its) => (
          <>
            <Head relayer={its} />
            <Tabs
              label="Relayer pages"
              base={paths.relayer(relayer_id)}
              tabs={caller.relayer_ids === null ? tabs : withoutFunding}
              open={tab}
            />
            {tab === 'nonces' && <Nonces relayer={its} />}
            {tab === 'policies' && <Policies relayer={its} />}
            {tab === 'funding' && <RelayerFunding relayer={its} />}
            {tab === 'events' && <Events relayer_id={relayer_id} />}
            {tab === 'activity' && (
              <ActivityCharts
                of={its}
                relayer_id={relayer_id}
                here={paths.relayer(relayer_id, 'activity')}
                find={group}
              />
            )}
          </>
        )}
      </Loaded>
      {/* It keeps its place in the list while other tabs are open. */}
      <div hidden={tab !== 'list'}>
        <FilteredTransactions
          place={{ relayer_id }}
          here={paths.relayer(relayer_id, 'list')}
          group={group}
          find={find}
        />
      </div>
    </>
  )
}

/** Its ID is known before the rest of it. */
function Title({ relayer_id, relayer }: { relayer_id: string; relayer: Relayer | undefined }) {
  const healthOf = useHealthOf()
  const opened = { kind: 'relayer', name: relayer_id, to: paths.relayer(relayer_id) } as const
  return (
    <>
      <Crumbs to={paths.relayers} list="Relayers">
        {relayer_id}
        {relayer && relayer.name !== relayer_id && `, ${relayer.name}`}
      </Crumbs>
      <div className="bar">
        <Heading name={relayer_id} opened={relayer && opened}>
          {relayer_id} {relayer && <Badge state={healthOf(relayer)} />}
        </Heading>
        {relayer && <RelayerActions relayer={relayer} />}
      </div>
    </>
  )
}

function Head({ relayer }: { relayer: Relayer }) {
  const { id, address, network, paused, system_disabled, disabled_reason, custom_rpc_urls, warnings = [] } = relayer
  const status = useStatus(id, pollMs)
  const stuck = useStuck(id)?.reason
  return (
    <div className="head">
      {system_disabled && (
        <Problem>
          The service disabled it: {disabled_reason} Check the nodes of <NetworkLink name={network} />, or repair its{' '}
          <Link to={paths.relayer(id, 'nonces')}>nonces</Link>.
        </Problem>
      )}
      {paused && !system_disabled && (
        <Callout of="info">This relayer is paused: it signs and sends nothing until it is resumed.</Callout>
      )}
      <RelayerTroubles relayer_id={id} />
      {warnings.map(({ message }) => (
        <Callout of="warning" key={message}>
          {message}
        </Callout>
      ))}
      <p className="hint copyable">
        <span>Send funds to</span> <Address value={address} network={network} what="Address" whole isUnnamed />
      </p>
      <Figures
        of={{
          Balance: <Balance of={id} network={network} />,
          Unfinished: (
            <span className={stuck && 'warn-text'} title={stuck}>
              {status.data ? count(status.data.pending_transactions_count) : <Pending />}
            </span>
          ),
          'Next nonce': status.data?.nonce ?? <Pending />,
          Network: (
            <>
              <NetworkLink name={network} />
              {custom_rpc_urls.length > 0 && ', own nodes'}
            </>
          ),
        }}
      />
    </div>
  )
}

/** What can be done with a relayer, beside its policies and its funding. */
function RelayerActions({ relayer }: { relayer: Relayer }) {
  const { may } = useSession()
  if (!may('manage')) return null
  const { id, paused } = relayer
  const thing = `relayer ${id}`
  return (
    <div className="buttons">
      <EditRelayer relayer={relayer} />
      <Action
        premise={paused ? 'paused' : 'running'}
        ended={`Relayer ${id} is ${paused ? 'paused' : 'running'} already: somebody else has changed it. Nothing was sent.`}
        label={paused ? 'Resume' : 'Pause'}
        thing={thing}
        tone={paused ? 'primary' : undefined}
        effect={
          paused
            ? 'The relayer signs and sends again, and its waiting transactions continue.'
            : 'The relayer signs and sends nothing until it is resumed. Transactions that a node already has may still be mined.'
        }
        message={about('Relayer', <RelayerLink id={id} />, paused ? 'is resumed.' : 'is paused.')}
        run={(client) => client.relayers.update(id, { paused: !paused })}
      />
      <Action
        label="Drain"
        thing={thing}
        effect={
          <p>
            {id} takes no new transactions; messages are still signed. Its unfinished transactions continue. When they
            have ended, it can be deleted. To end the drain, clear the policy <code>allow_transactions</code>.
          </p>
        }
        run={(client) => client.relayers.update(id, { policies: { allow_transactions: false } })}
        message={`${id} takes no new transactions. When its unfinished transactions have ended, it can be deleted.`}
      />
      <Menu of={id}>
        <Action
          label="Delete"
          thing={thing}
          tone="danger"
          typed={id}
          message={`Relayer ${id} is deleted. Its signer stays.`}
          effect={`Deletes ${id} with its policies and the list of its transactions. It is refused while a transaction is unfinished. Its signer and what its address owns stay.`}
          run={(client) => client.relayers.delete(id)}
          to={paths.relayers}
        />
      </Menu>
    </div>
  )
}

/** Its own nodes are masked, so they are kept unless others are given. */
function EditRelayer({ relayer }: { relayer: Relayer }) {
  const { id, name, notification_ids = [], custom_rpc_urls } = relayer
  const { values, bind, pick, reset } = useForm({ name, custom_rpc_urls: '', nodes: '', notification_ids })
  const { opened, open, lack, difference } = useEdited(relayer, reset)
  const ownNodes = custom_rpc_urls.length
  return (
    <Action
      label="Edit"
      thing={`relayer ${id}`}
      opened={open}
      lack={lack}
      message={about('Relayer', <RelayerLink id={id} />, 'is edited.')}
      effect={`Changes ${id}. Its limits are in the tab “Policies”.`}
      run={async (client) =>
        client.relayers.update(
          id,
          {
            ...changedIn(
              { name: opened.name, notification_ids: opened.notification_ids ?? [] },
              { name: values.name, notification_ids: values.notification_ids },
            ),
            ...(values.nodes === 'own' && { custom_rpc_urls: nodesOf(values.custom_rpc_urls, 'custom_rpc_urls') }),
            ...(values.nodes === 'network' && { custom_rpc_urls: null }),
          },
          { revision: opened.revision },
        )
      }
    >
      {difference}
      <Field label="Name" required {...bind('name')} />
      <Select
        label="Nodes"
        none={ownNodes === 0 ? 'those of the network' : `its own (${count(ownNodes)})`}
        values={[['own', 'others of its own'], ...(ownNodes > 0 ? [['network', 'those of the network'] as const] : [])]}
        {...bind('nodes')}
      />
      {values.nodes === 'own' && (
        <Entries label="Node URLs" one="node" parts={nodeParts} required {...bind('custom_rpc_urls')} />
      )}
      <NotificationChecks {...pick('notification_ids')} />
    </Action>
  )
}
