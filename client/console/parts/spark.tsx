/** A small line of values, without an axis. Where a value is unknown, the line has a gap. */
export function Spark({ values }: { values: (number | null)[] }) {
  const highest = Math.max(...values.map((value) => value ?? 0), 1)
  const last = Math.max(values.length - 1, 1)
  const path = values.map((value, index) => {
    if (value === null) return ''
    const isNext = index > 0 && values[index - 1] !== null
    const [x, y] = [(index / last) * 100, 22 - (value / highest) * 20]
    if (isNext) return `L${x} ${y}`
    // A point without neighbours is a dash.
    return values[index + 1] == null ? `M${x - 1} ${y}H${x}` : `M${x} ${y}`
  })
  return (
    <svg className="spark" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      <path d={path.join(' ')} />
    </svg>
  )
}
