/** At most so many lines of a grid above zero. */
const maxLines = 4
const minuteMs = 60_000
/** Times of a clock are not round in tens. */
const clockMs = [
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000),
  ...[1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440].map((minutes) => minutes * minuteMs),
]

export type Measure = 'count' | 'amount' | 'ms'

/** The marks of an axis from zero to a round value that is not below `max`. */
export function axisMarks(max: number, measure: Measure): number[] {
  const step = stepOf(max, measure)
  const lines = Math.max(1, Math.ceil(max / step - 1e-9))
  return Array.from({ length: lines + 1 }, (_, index) => index * step)
}

function stepOf(max: number, measure: Measure): number {
  if (max <= 0) return 1
  const least = max / maxLines
  const clock = measure === 'ms' && least > 500 ? clockMs.find((step) => step >= least) : undefined
  if (clock !== undefined) return clock
  const power = 10 ** Math.floor(Math.log10(least))
  const step = ([1, 2, 5].find((one) => one * power * (1 + 1e-9) >= least) ?? 10) * power
  return measure === 'count' ? Math.max(1, step) : step
}
