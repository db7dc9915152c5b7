import { useQuery } from '@tanstack/react-query'
import type { ActivityPoint as Point } from '../../index.ts'
import { useSession } from './session.tsx'

const poll_ms = 10_000
/** More bars than these are too thin to be told apart. */
const max_points = 48
/** The steps that points are put together to, in seconds. */
const steps_s = [300, 3_600]

export const periods = {
  hour: '1 hour',
  day: '24 hours',
  week: '7 days',
  month: '30 days',
  quarter: '90 days',
} as const
export type Period = keyof typeof periods

export interface Whose {
  relayer_id?: string
  pool_id?: string
  network?: string
}

interface Activity {
  seconds_per_point: number
  points: Point[]
}

/** The activity of all relayers, of those of a network or pool, or of one. */
export function useActivity(period: Period, whose: Whose = {}) {
  const { client } = useSession()
  const query = { period, ...whose }
  return useQuery({
    queryKey: ['activity', query],
    queryFn: async ({ signal }): Promise<Activity> => (await client.get('/api/v1/activity', { query, signal })).data,
    select: inSteps,
    refetchInterval: period === 'hour' || period === 'day' ? poll_ms : poll_ms * 3,
    placeholderData: (before) => before,
  })
}

/** Points of minutes become ones of five minutes, and points of a quarter of an hour become hours. Those of days stay. */
function inSteps(activity: Activity): Activity {
  const { seconds_per_point, points } = activity
  const step_s = steps_s.find((one) => one > seconds_per_point)
  if (step_s === undefined || points.length <= max_points) return activity
  const steps = Map.groupBy(points, ({ at }) => Math.floor(Date.parse(at) / (step_s * 1_000)))
  return {
    seconds_per_point: step_s,
    points: [...steps].map(([step, its]) => ({ ...sumOf(its), at: new Date(step * step_s * 1_000).toISOString() })),
  }
}

/** All of the points as one. */
export function sumOf(points: Point[]): Omit<Point, 'at'> {
  const has_fees = points.every(({ fees }) => fees !== null)
  return {
    accepted: total(points, 'accepted'),
    mined: total(points, 'mined'),
    failed: total(points, 'failed'),
    mean_inclusion_ms: meanOf(points),
    max_inclusion_ms: slowestOf(points),
    fees: has_fees ? feesOf(points).toString() : null,
  }
}

export const total = (points: Point[], name: 'accepted' | 'mined' | 'failed'): number =>
  points.reduce((sum, point) => sum + point[name], 0)

/** What got into a block and did what it should. `mined` has the reverted ones too, which are counted as `failed`. */
export const succeeded = ({ mined, failed }: Point): number => Math.max(mined - failed, 0)

/**
 * Accepted, but neither succeeded nor failed in the same time: unfinished, canceled or expired. Where more ended than was accepted, there is
 * none.
 */
export const other = ({ accepted, mined, failed }: Pick<Point, 'accepted' | 'mined' | 'failed'>): number =>
  Math.max(accepted - Math.max(mined, failed), 0)

export const totalSucceeded = (points: Point[]): number => points.reduce((sum, point) => sum + succeeded(point), 0)

/** Seconds since the Unix epoch, of the begin of each point. */
export const timesOf = (points: Point[]): number[] => points.map((point) => Date.parse(point.at) / 1_000)

/** In wei. */
export const feesOf = (points: Point[]): bigint => points.reduce((sum, { fees }) => sum + BigInt(fees ?? 0), 0n)

/** The mean time to inclusion of all that were mined; null: of none. */
export function meanOf(points: Point[]): number | null {
  const known = points.filter(({ mean_inclusion_ms, mined }) => mean_inclusion_ms !== null && mined > 0)
  const ms = known.reduce((sum, point) => sum + (point.mean_inclusion_ms ?? 0) * point.mined, 0)
  return known.length === 0 ? null : ms / total(known, 'mined')
}

/** The longest time to inclusion; null: none was mined. */
export function slowestOf(points: Point[]): number | null {
  const known = points.map(({ max_inclusion_ms }) => max_inclusion_ms).filter((ms) => ms !== null)
  return known.length === 0 ? null : Math.max(...known)
}

/** The length of a point in words: `per hour`. */
export function stepText(step_s: number): string {
  if (step_s >= 86_400) return 'per day (UTC)'
  return step_s === 3_600 ? 'per hour' : `per ${step_s / 60} minutes`
}
