import { useState } from 'react'
import { useRelayers } from '../data/overview.ts'
import { ActivityCharts } from '../parts/activity.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { FirstSteps, useIsUnused } from '../parts/first-steps.tsx'
import { Heading } from '../parts/heading.tsx'
import { Problems } from '../parts/problems.tsx'
import { RelayerTable } from '../parts/relayer-table.tsx'
import { Tiles } from '../parts/tiles.tsx'

/** Problems come first; before the first transaction, what to do. */
export function Overview({ find }: { find?: string | undefined }) {
  const relayers = useRelayers()
  const [isHeld, hold] = useState(false)
  const isUnused = useIsUnused()
  const isEmpty = isHeld || relayers.data?.length === 0
  return (
    <>
      <Heading name="Overview" />
      {(isEmpty || isUnused) && <FirstSteps hold={hold} />}
      {!isEmpty && <Problems />}
      {!isEmpty && <Tiles />}
      {!isEmpty && <ActivityCharts here="/overview" find={find} />}
      {!isEmpty && (
        <section aria-labelledby="relayers">
          <Loaded query={relayers} lines={8} as="rows">
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
        <Loaded query={relayers} lines={8} as="rows">
          {() => <FirstSteps hold={hold} />}
        </Loaded>
      </>
    )
  return <RelayerTable rows={relayers.data} find={find} here="/relayer-list" heading={heading} />
}
