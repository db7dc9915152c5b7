/** A small line of values, without an axis. */
export function Spark({ values }: { values: number[] }) {
  const highest = Math.max(...values, 1)
  const last = Math.max(values.length - 1, 1)
  const path = values.map(
    (value, index) => `${index === 0 ? 'M' : 'L'}${(index / last) * 100} ${22 - (value / highest) * 20}`,
  )
  return (
    <svg className="spark" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      <path d={path.join(' ')} />
    </svg>
  )
}
