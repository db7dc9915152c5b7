import { type ComponentProps, useState } from 'react'
import { Link } from 'wouter'
import {
  ActivityCharts,
  slowestOf,
  stepText,
  succeeded,
  total,
  totalSucceeded,
  useActivity,
} from '../activity/activity.tsx'
import { Spark } from '../components/chart.tsx'
import { Loaded } from '../components/feedback.tsx'
import { Heading } from '../components/page.tsx'
import { Pending, useTicks } from '../components/values.tsx'
import { count } from '../data/format.ts'
import { paths } from '../data/paths.ts'
import { useHealthOf, useIsUnused, useRelayersWithQueues } from '../data/resources.ts'
import { slowMs } from '../data/statuses.ts'
import { age, duration } from '../data/times.ts'
import { Problems } from '../problems/problems.tsx'
import { RelayerTable } from '../relayers/relayers.tsx'
import { FirstSteps } from './first-steps.tsx'

/** Problems come first; before the first transaction, what to do. */
export function Overview({ find }: { find?: string | undefined }) {
  const relayers = useRelayersWithQueues()
  const [isHeld, hold] = useState(false)
  const isUnused = useIsUnused()
  const isEmpty = isHeld || relayers.data?.length === 0
  return (
    <>
      <Heading name="Overview" />
      {(isEmpty || isUnused) && <FirstSteps hold={hold} />}
      {!isEmpty && <Problems />}
      {!isEmpty && <Tiles />}
      {!isEmpty && <ActivityCharts here={paths.chosenOverview} find={find} />}
      {!isEmpty && (
        <section aria-labelledby="relayers">
          <Loaded query={relayers} lines={8} as="rows">
            {(rows) => (
              <RelayerTable
                rows={rows}
                find={find}
                here={paths.chosenOverview}
                heading={<h2 id="relayers">Relayers</h2>}
              />
            )}
          </Loaded>
        </section>
      )}
    </>
  )
}

/** What goes on at a glance; each figure leads to what it counts. */
function Tiles() {
  const relayers = useRelayersWithQueues()
  const healthOf = useHealthOf()
  const day = useActivity('day')
  const rows = relayers.data ?? []
  const points = day.data?.points ?? []
  const unfinished = rows.reduce((sum, { queue }) => sum + (queue?.unfinished_count ?? 0), 0)
  const active = rows.filter(({ relayer }) => healthOf(relayer) === 'active').length
  const failed = total(points, 'failed')
  const slowest = slowestOf(points)
  const oldest = oldestOf(rows)
  useTicks()
  const isKnown = day.data !== undefined
  const each = stepText(day.data?.seconds_per_point ?? 0)
  return (
    <div className="tiles">
      <Tile
        to={paths.relayers}
        name="Relayers"
        value={relayers.data && count(rows.length)}
        note={relayers.data ? (active === rows.length ? 'all active' : `${count(active)} active`) : ''}
        tone={active === rows.length ? undefined : 'warn'}
      />
      <Tile
        to={paths.group(paths.transactions, 'unfinished')}
        name="Unfinished"
        value={relayers.data && count(unfinished)}
        note="accepted, not final yet"
      />
      <Tile
        to={paths.group(paths.transactions, 'confirmed')}
        name="Succeeded, 24 h"
        value={isKnown && count(totalSucceeded(points))}
        note={isKnown ? `${count(total(points, 'accepted'))} accepted` : ''}
        line={{ values: points.map(succeeded), each, color: '--green' }}
      />
      <Tile
        to={paths.group(paths.transactions, 'failed')}
        name="Failed, 24 h"
        value={isKnown && count(failed)}
        note={isKnown && failed === 0 ? 'none' : 'see why'}
        tone={failed === 0 ? undefined : 'bad'}
        line={{ values: points.map(({ failed }) => failed), each, color: '--red' }}
      />
      <Tile
        to={oldest === null ? paths.transactions : paths.group(paths.transactions, 'unfinished')}
        name="Slowest, 24 h"
        value={isKnown && (slowest === null ? '–' : duration(slowest))}
        note={oldest === null ? 'from acceptance to a block' : `unfinished: ${age(oldest)}`}
        tone={oldest !== null && Date.now() - Date.parse(oldest) > Math.max(slowest ?? 0, slowMs) ? 'warn' : undefined}
        line={{
          values: points.map(({ max_inclusion_ms }) => max_inclusion_ms),
          ...{ each, show: duration, color: '--orange' },
        }}
      />
    </div>
  )
}

/** When the oldest transaction in no block was accepted: the slowest may be one that still waits. */
const oldestOf = (rows: NonNullable<ReturnType<typeof useRelayersWithQueues>['data']>): string | null =>
  rows.flatMap(({ queue }) => queue?.first?.created_at ?? []).sort()[0] ?? null

interface TileProps {
  to: string
  name: string
  /** What is not known yet is no text. */
  value: string | false | undefined
  note: string
  tone?: 'bad' | 'warn' | undefined
  line?: ComponentProps<typeof Spark>
}

const Tile = ({ to, name, value, note, tone, line }: TileProps) => (
  <Link to={to} className="tile">
    <span>{name}</span>
    <strong className={tone === 'bad' ? tone : undefined}>{value || <Pending />}</strong>
    <span className={tone}>{note}</span>
    {line && <Spark {...line} />}
  </Link>
)
