import { lastsFor } from '../data/funds.ts'
import { useStatus } from '../data/overview.ts'
import { useSpending } from '../data/spending.ts'
import { span } from '../data/times.ts'

const day_ms = 86_400_000
const year_ms = 365 * day_ms
/** A balance that lasts for less is shown as low. */
const short_ms = 7 * day_ms

/** For how long the balance pays for fees as in these days, or as today, if today costs more. Values that it sends are not counted. */
export function Runway({
  relayer_id,
  fees,
  fees_today,
  days,
  none = '–',
}: {
  relayer_id: string
  fees: bigint
  fees_today: bigint
  days: number
  /** What is shown when there were no fees. */
  none?: string
}) {
  const status = useStatus(relayer_id)
  if (!status.data || status.data.balance === null) return status.error ? 'unknown' : '…'
  const { ms, of_days } = lastsFor(BigInt(status.data.balance), fees, fees_today, days)
  if (ms === Number.POSITIVE_INFINITY) return none
  const basis = of_days === 1 ? 'At what today cost so far' : `At the average of ${of_days} days`
  return (
    <span className={ms < short_ms ? 'low' : undefined} title={`${basis}; values that it sends are not counted`}>
      {ms > year_ms ? 'over a year' : span(ms)}
    </span>
  )
}

const basis_days = 7

/** The same of a relayer by its fees of 7 days. The fees of all relayers are one request. */
export function LastsOf({ relayer_id, none = '–' }: { relayer_id: string; none?: string }) {
  const spending = useSpending({ days: basis_days })
  if (!spending.data) return spending.error ? 'unknown' : '…'
  const its = spending.data.find((one) => one.relayer_id === relayer_id)
  return (
    <Runway
      relayer_id={relayer_id}
      fees={BigInt(its?.fees ?? 0)}
      fees_today={BigInt(its?.fees_today ?? 0)}
      days={basis_days}
      none={none}
    />
  )
}
