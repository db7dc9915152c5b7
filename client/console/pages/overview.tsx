import { Wallet } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { useNetworks, useRelayers } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { ActivityCharts } from '../parts/activity.tsx'
import { CreateRelayer } from '../parts/create-relayer.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { Nothing } from '../parts/nothing.tsx'
import { Problems } from '../parts/problems.tsx'
import { RelayerTable } from '../parts/relayer-table.tsx'
import { Tiles } from '../parts/tiles.tsx'

/** Problems come first. */
export function Overview({ find }: { find?: string | undefined }) {
  const relayers = useRelayers()
  const [isHeld, hold] = useState(false)
  const isEmpty = isHeld || relayers.data?.length === 0
  return (
    <>
      <Heading name="Overview" />
      {isEmpty ? <FirstSteps hold={hold} /> : <Problems />}
      {!isEmpty && <Tiles />}
      {!isEmpty && <ActivityCharts here="/overview" find={find} />}
      {!isEmpty && (
        <section aria-labelledby="relayers">
          <Loaded query={relayers} lines={8}>
            {(rows) => (
              <RelayerTable rows={rows} find={find} here="/overview" heading={<h2 id="relayers">Relayers</h2>} />
            )}
          </Loaded>
        </section>
      )}
    </>
  )
}

/** The relayers on a page of their own. */
export function RelayerList({ find }: { find?: string | undefined }) {
  const relayers = useRelayers()
  const [isHeld, hold] = useState(false)
  const heading = <Heading name="Relayers" />
  if (isHeld || relayers.data === undefined || relayers.data.length === 0)
    return (
      <>
        {heading}
        <Loaded query={relayers} lines={8}>
          {() => <FirstSteps hold={hold} />}
        </Loaded>
      </>
    )
  return <RelayerTable rows={relayers.data} find={find} here="/relayer-list" heading={heading} />
}

/** Of a service without relayers: what to do, in order, and what of it is done. */
function FirstSteps({ hold }: { hold(isOpen: boolean): void }) {
  const { mayManageAll } = useSession()
  const networks = useNetworks()
  if (!mayManageAll)
    return (
      <Nothing icon={Wallet} title="No relayers">
        This API key has access to no relayers. Ask who gave it to you for access to some.
      </Nothing>
    )
  const hasNetwork = (networks.data?.length ?? 0) > 0
  return (
    <section aria-labelledby="first">
      <h2 id="first">First steps</h2>
      <p className="hint">The service runs. Four steps to the first transaction:</p>
      <ol className="steps">
        <li className={hasNetwork ? 'met' : undefined}>
          <strong>Create a network</strong>
          <span>A chain and the URLs of its nodes. {hasNetwork && `There is ${networks.data?.[0]?.name}.`}</span>
          <Link to="/networks">Open the networks</Link>
        </li>
        <li>
          <strong>Create a relayer</strong>
          <span>A key on a network. The service makes a new key for it.</span>
          <span>
            <CreateRelayer hold={hold} />
          </span>
        </li>
        <li>
          <strong>Fund it</strong>
          <span>Send some coins to the relayer's address, which its page shows.</span>
        </li>
        <li>
          <strong>Send a transaction</strong>
          <span>Sign, simulate and send in the sandbox, and take its code samples.</span>
          <Link to="/sandbox">Open the sandbox</Link>
        </li>
      </ol>
    </section>
  )
}
