import type { ComponentProps } from 'react'
import { Link } from 'wouter'
import { slowestOf, stepText, succeeded, total, totalSucceeded, useActivity } from '../data/activity.ts'
import { count } from '../data/format.ts'
import { useRelayers } from '../data/overview.ts'
import { duration } from '../data/times.ts'
import { Spark } from './spark.tsx'

/** What goes on at a glance; each figure leads to what it counts. */
export function Tiles() {
  const relayers = useRelayers()
  const day = useActivity('day')
  const rows = relayers.data ?? []
  const points = day.data?.points ?? []
  const unfinished = rows.reduce((sum, { queue }) => sum + (queue?.unfinished ?? 0), 0)
  const off = rows.filter(({ relayer }) => relayer.paused || relayer.system_disabled).length
  const failed = total(points, 'failed')
  const slowest = slowestOf(points)
  const isKnown = day.data !== undefined
  const each = stepText(day.data?.seconds_per_point ?? 0)
  return (
    <div className="tiles">
      <Tile
        to="/relayer-list"
        name="Relayers"
        value={relayers.data ? count(rows.length) : '…'}
        note={off === 0 ? 'all active' : `${count(off)} paused or disabled`}
        tone={off === 0 ? undefined : 'warn'}
      />
      <Tile
        to="/transactions/unfinished"
        name="Unfinished"
        value={relayers.data ? count(unfinished) : '…'}
        note="accepted, not final yet"
      />
      <Tile
        to="/transactions/confirmed"
        name="Succeeded, 24 h"
        value={isKnown ? count(totalSucceeded(points)) : '…'}
        note={isKnown ? `${count(total(points, 'accepted'))} accepted` : ''}
        line={{ values: points.map(succeeded), each, color: '--green' }}
      />
      <Tile
        to="/transactions/failed"
        name="Failed, 24 h"
        value={isKnown ? count(failed) : '…'}
        note={isKnown && failed === 0 ? 'none' : 'see why'}
        tone={failed === 0 ? undefined : 'bad'}
        line={{ values: points.map(({ failed }) => failed), each, color: '--red' }}
      />
      <Tile
        to="/transactions"
        name="Slowest, 24 h"
        value={isKnown ? (slowest === null ? '–' : duration(slowest)) : '…'}
        note="until in a block"
        line={{
          values: points.map(({ max_inclusion_ms }) => max_inclusion_ms),
          ...{ each, show: duration, color: '--orange' },
        }}
      />
    </div>
  )
}

function Tile({
  to,
  name,
  value,
  note,
  tone,
  line,
}: {
  to: string
  name: string
  value: string
  note: string
  tone?: 'bad' | 'warn' | undefined
  line?: ComponentProps<typeof Spark>
}) {
  return (
    <Link to={to} className="tile">
      <span>{name}</span>
      <strong className={tone === 'bad' ? tone : undefined}>{value}</strong>
      <span className={tone}>{note}</span>
      {line && <Spark {...line} />}
    </Link>
  )
}
