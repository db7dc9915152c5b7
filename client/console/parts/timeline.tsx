import { useQuery } from '@tanstack/react-query'
import type { Attempt, Transaction } from '../../index.ts'
import { count } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { isFinal, toneOf } from '../data/statuses.ts'
import { clock, gap, inBothZones } from '../data/times.ts'
import { runsOf } from '../data/versions.ts'
import { RowTime } from './moment.tsx'
import { type Step, signed } from './versions.tsx'

/** The history of a transaction: accepted, each signed version with the nodes' response, mined, and its final status. */
export function Timeline({ transaction, attempts }: { transaction: Transaction; attempts: Attempt[] }) {
  const block = transaction.receipt?.block_number
  const block_at = useBlockTime(transaction.relayer_id, block)
  const before: Step[] = [{ name: 'Accepted', at: transaction.created_at }, ...runsOf(attempts).map(signed)]
  const steps: Step[] = [
    ...before,
    ...(block === undefined ? [] : [inBlock(block, block_at, before.at(-1)?.at ?? null, transaction.ended_at)]),
    ...ended(transaction),
  ]
  return (
    <ol className="timeline">
      {steps.map(({ name, at, tone, more }, index) => (
        <li key={name} className={tone}>
          <div className="step">
            <strong>{name}</strong>
            <Since at={at} before={steps.slice(0, index).findLast((step) => step.at !== null)} />
          </div>
          {at !== null && <RowTime at={at} />}
          {more}
        </li>
      ))}
    </ol>
  )
}

/**
 * A block has its time to the second, by the clock of its proposer, so it may seem to be earlier than the step before, or later than the end.
 * The service does not keep when it saw the block: the step stands between its neighbors, and has the block's own time as a hint.
 */
function inBlock(block: number, block_at: string | null, before: string | null, ended_at: string | null): Step {
  const name = `In block ${count(block)}`
  const at = block_at && between(block_at, before, ended_at)
  if (at === null || block_at === null || clock(at) === clock(block_at)) return { name, at }
  return {
    name,
    at,
    more: (
      <div className="hint">
        block time{' '}
        <time dateTime={block_at} title={inBothZones(block_at)}>
          {clock(block_at)}
        </time>
      </div>
    ),
  }
}

/** The time, or the nearest one that is not outside of these. */
function between(at: string, first: string | null, last: string | null): string {
  const ms = Math.min(
    Math.max(Date.parse(at), msOr(first, Number.NEGATIVE_INFINITY)),
    msOr(last, Number.POSITIVE_INFINITY),
  )
  return ms === Date.parse(at) ? at : new Date(ms).toISOString()
}

const msOr = (at: string | null, none: number): number => (at === null ? none : Date.parse(at))

/** How long after the step before it was. */
function Since({ at, before }: { at: string | null; before: Step | undefined }) {
  if (at === null || !before || before.at === null) return null
  const ms = Date.parse(at) - Date.parse(before.at)
  return ms < 0 ? null : (
    <span className="hint" title={`after “${before.name}”`}>
      +{gap(ms)}
    </span>
  )
}

function ended({ status, status_reason, ended_at }: Transaction): Step[] {
  if (!isFinal(status)) return []
  const more = status_reason !== null && status !== 'failed' && <div className="long">{status_reason}</div>
  return [{ name: `Ended as ${status}`, at: ended_at, tone: toneOf(status), more }]
}

/** The time of a block, as a node tells it; null until then. */
function useBlockTime(relayer_id: string, block: number | undefined): string | null {
  const { client, may } = useSession()
  const { data } = useQuery({
    queryKey: ['block time', relayer_id, block],
    queryFn: async ({ signal }) => {
      const body = { method: 'eth_getBlockByNumber' as const, params: [`0x${block?.toString(16)}`, false] }
      const { data } = await client.post('/api/v1/relayers/{relayer_id}/rpc', { path: { relayer_id }, body, signal })
      const { timestamp } = (data.result ?? {}) as { timestamp?: string }
      return timestamp === undefined ? null : new Date(Number(timestamp) * 1_000).toISOString()
    },
    enabled: block !== undefined && may('read'),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return data ?? null
}
