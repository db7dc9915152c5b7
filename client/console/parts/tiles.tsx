import { Link } from 'wouter'
import { succeeded, total, totalSucceeded, useActivity } from '../data/activity.ts'
import { count, duration } from '../data/format.ts'
import { useRelayers } from '../data/overview.ts'
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
  const slowest = Math.max(0, ...points.map(({ max_inclusion_ms }) => max_inclusion_ms ?? 0))
  const isKnown = day.data !== undefined
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
        line={points.map(succeeded)}
      />
      <Tile
        to="/transactions/failed"
        name="Failed, 24 h"
        value={isKnown ? count(failed) : '…'}
        note={isKnown && failed === 0 ? 'none' : 'see why'}
        tone={failed === 0 ? undefined : 'bad'}
        line={points.map(({ failed }) => failed)}
      />
      <Tile
        to="/transactions"
        name="Slowest, 24 h"
        value={isKnown ? (slowest === 0 ? '–' : duration(slowest)) : '…'}
        note="until in a block"
        line={points.map(({ max_inclusion_ms }) => max_inclusion_ms)}
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
  line?: (number | null)[]
}) {
  return (
    <Link to={to} className="tile">
      <span>{name}</span>
      <strong className={tone === 'bad' ? tone : undefined}>{value}</strong>
      <span className={tone}>{note}</span>
      {line && <Spark values={line} />}
    </Link>
  )
}
