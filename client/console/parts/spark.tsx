import { count } from '../data/format.ts'

/** The height of the base line, which is zero, in a picture of 24. */
const base = 22

/**
 * A small line of values above its base line, with its range and its last value in its title. Where a value is unknown, the line has a gap. A
 * value without neighbors and the last one are dots, and the line to the last one is dashed. `each`: what a value is of, such as "per hour". `color`: the name of a CSS variable.
 */
export function Spark({
  values,
  each,
  show = count,
  color = '--blue',
}: {
  values: (number | null)[]
  each: string
  color?: string
  show?: (value: number) => string
}) {
  const known = values.filter((value) => value !== null)
  const highest = Math.max(...known, 0)
  const end = Math.max(values.length - 1, 1)
  const last = values.findLastIndex((value) => value !== null)
  const points = values.map((value, index) => {
    if (value === null) return undefined
    return `${(index / end) * 100} ${base - (value / (highest || 1)) * (base - 2)}`
  })
  const line = points.map((point, index) => point && `${points[index - 1] ? 'L' : 'M'}${point}`)
  // What the last value is of is not over.
  const running = points[end] && points[end - 1] && `M${points[end - 1]}L${points[end]}`
  const dots = points.filter((_, index) => index === last || !(points[index - 1] || points[index + 1]))
  return (
    <span className="spark" style={{ color: `var(${color})` }} title={rangeOf(known, each, show)} aria-hidden>
      <svg viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
        <path className="base" d={`M0 ${base}H100`} />
        <path d={line.slice(0, end).join('')} />
        <path className="running" d={running} />
        <path className="dots" d={dots.map((point) => point && `M${point}h0`).join('')} />
      </svg>
    </span>
  )
}

function rangeOf(known: number[], each: string, show: (value: number) => string): string {
  const last = known.at(-1)
  if (last === undefined) return `None ${each}`
  return `${show(Math.min(...known))} to ${show(Math.max(...known))} ${each}, last ${show(last)}`
}
