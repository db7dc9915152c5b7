import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { mark, markExactly, zone } from '../data/format.ts'

export interface Line {
  label: string
  /** The name of a CSS variable. */
  color: string
  values: (number | null)[]
  /** Where its bars end, if not at the values: bars of later lines are behind, and stand out above. */
  bars?: number[]
}

interface ChartProps {
  title: string
  unit: string
  /** Seconds since the Unix epoch, of the begin of each point. */
  at: number[]
  lines: Line[]
  /** What the whole period has, above the chart. */
  total?: string
  /** How a value is shown, and beside the axis if that is another. */
  show?: (value: number) => string
  mark?: (value: number) => string
  /** Opens what a point stands for. */
  open?: ((from_s: number, to_s: number) => void) | undefined
  /** Levels are lines for any period. */
  isLevel?: boolean
}

const height = 168
const character_px = 6.5
const day_s = 86_400

/** A chart over time with the values under the pointer, and with a text of the same for screen readers. Amounts and counts are bars. */
export function Chart({
  title,
  unit,
  at,
  lines,
  total,
  show = figure,
  mark: marked = show,
  open,
  isLevel = false,
}: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const opener = useRef(open)
  opener.current = open
  const marker = useRef(marked)
  marker.current = marked
  const [point, setPoint] = useState<{ index: number; left: number; isRight: boolean }>()
  const step_s = (at[1] ?? 0) - (at[0] ?? 0)
  const isDaily = step_s >= day_s / 2
  const drawn = inDrawingOrder(lines)
  const names = drawn.map(({ label, color }) => `${label} ${color}`).join()

  useEffect(() => {
    const element = place.current
    if (!element) return
    const made = new uPlot(
      {
        ...optionsOf(element, names, { isLevel, isDaily }, (value) => marker.current(value)),
        hooks: {
          setCursor: [
            ({ cursor: { idx, left = -1 }, bbox: { left: from } }) => {
              const x = left + from / devicePixelRatio
              setPoint(
                idx == null || left < 0 ? undefined : { index: idx, left: x, isRight: x > element.clientWidth / 2 },
              )
            },
          ],
        },
      },
      [[], ...names.split(',').map(() => [])],
      element,
    )
    made.over.addEventListener('click', () => {
      const { idx } = made.cursor
      const [times] = made.data
      if (idx == null || times[idx] === undefined) return
      const width = (times[1] ?? 0) - (times[0] ?? 0)
      opener.current?.(times[idx], times[idx] + width)
    })
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
    }
  }, [names, isLevel, isDaily])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a chart that was made again needs its data again
  useEffect(
    () => plot.current?.setData([at, ...drawn.map(({ values, bars = values }) => bars)]),
    [at, lines, names, isLevel, isDaily],
  )

  const swatchOf = (color: string, index: number) =>
    index === 0 && lines.length > 1 && !isLevel ? `${color.slice(2)} pale` : color.slice(2)
  const isEmpty = lines.every(({ values }) => values.every((value) => value === null || value === 0))
  const shownAt = point && at[point.index]
  return (
    <figure className="chart">
      <figcaption>
        <strong>{title}</strong> <span className="hint">{unit}</span>
        <span className="total">{total}</span>
      </figcaption>
      <div className={open ? 'plot linked' : 'plot'}>
        <div ref={place} role="img" aria-label={`${title}: ${lines.map((line) => summaryOf(line, show)).join('; ')}`} />
        {isEmpty && <span className="empty">Nothing in this period</span>}
        {point && shownAt !== undefined && !isEmpty && (
          <dl
            className="tip"
            style={point.isRight ? { right: `calc(100% - ${point.left - 12}px)` } : { left: point.left + 12 }}
          >
            <div>{markExactly(shownAt, isDaily)}</div>
            {lines.map(({ label, color, values }, index) => (
              <div key={label}>
                <dt className={swatchOf(color, index)}>{label}</dt>
                <dd>{shownOr(values[point.index], show)}</dd>
              </div>
            ))}
          </dl>
        )}
      </div>
      {lines.length > 1 && (
        <div className="legends">
          {lines.map(({ label, color }, index) => (
            <span key={label} className={`legend ${swatchOf(color, index)}`}>
              {label}
            </span>
          ))}
        </div>
      )}
    </figure>
  )
}

/** The first is behind all others, and of these the last one. */
const inDrawingOrder = ([first, ...others]: Line[]): Line[] => (first ? [first, ...others.reverse()] : [])

function optionsOf(
  element: HTMLElement,
  names: string,
  { isLevel, isDaily }: { isLevel: boolean; isDaily: boolean },
  show: (value: number) => string,
): uPlot.Options {
  const style = getComputedStyle(element)
  const text = style.getPropertyValue('--text-soft')
  const grid = { stroke: style.getPropertyValue('--line'), width: 1 }
  const axis = { stroke: text, font: '11px system-ui', ticks: { show: false } }
  const all = names.split(',')
  const series = all.map((name, index): uPlot.Series => {
    const [color = '', ...label] = name.split(' ').reverse()
    const stroke = style.getPropertyValue(color)
    const its = { label: label.reverse().join(' '), stroke, width: 1.5 }
    // Of several, the first one is the whole: it is wider and pale behind the others.
    const isWhole = index === 0 && all.length > 1
    const paths = isLevel ? undefined : uPlot.paths.bars?.({ size: [isWhole ? 0.9 : 0.6, isWhole ? 32 : 24] })
    const fill = isWhole ? `${stroke}59` : stroke
    if (paths) return { ...its, width: 0, fill, points: { show: false }, paths }
    return { ...its, points: { size: 4, filter: alone } }
  })
  return {
    width: element.clientWidth,
    height,
    padding: [8, 16, 0, 0],
    // The axis is divided at midnight of the zone that its marks are in: that of days is UTC.
    tzDate: (at) => uPlot.tzDate(new Date(at * 1_000), isDaily ? 'UTC' : zone()),
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false }, sync: { key: 'activity' } },
    scales: {
      // The first and the last bar are whole.
      x: { range: withHalves },
      y: { range: (_: uPlot, __: number, max: number): uPlot.Range.MinMax => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        gap: 10,
        grid: { show: false },
        values: (_: uPlot, splits: number[]) => timesOf(splits, isDaily),
      },
      { ...axis, grid, size: widthOf, values: (_: uPlot, splits: number[]) => splits.map(show) },
    ],
    series: [{}, ...series],
  }
}

/** As wide as its longest mark. The marks are missing until the scale is known. */
const widthOf = (_: uPlot, marks: string[] | null): number =>
  8 + character_px * Math.max(1, ...(marks ?? []).map(({ length }) => length))

/** Half a point more at both ends. */
const withHalves = ({ data: [times] }: uPlot, min: number, max: number): uPlot.Range.MinMax => {
  const half = ((times[1] ?? 0) - (times[0] ?? 0)) / 2
  return [min - half, max + half]
}

/** Points without neighbours, which a line does not show. Null: uPlot draws points by its own rule. */
function alone({ data }: uPlot, series: number, isShown: boolean): number[] | null {
  if (isShown) return null
  const values = data[series] ?? []
  return [...values.keys()].filter((at) => values[at] != null && values[at - 1] == null && values[at + 1] == null)
}

const shownOr = (value: number | null | undefined, show: (value: number) => string) =>
  value === null || value === undefined ? '–' : show(value)

function summaryOf({ label, values }: Line, show: (value: number) => string): string {
  const known = values.filter((value) => value !== null)
  if (known.length === 0) return `${label}: none`
  return `${label}: highest ${show(Math.max(...known))}, last ${shownOr(
    values.findLast((value) => value !== null),
    show,
  )}`
}

/** Hours and minutes, or days, each once. */
const timesOf = (splits: number[], isDaily: boolean): string[] => {
  const marks = splits.map((at) => mark(at, isDaily))
  return marks.map((text, index) => (text === marks[index - 1] ? '' : text))
}

/** At most three digits that say something: 41,600 is "41.6k". */
const figures = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })
const figure = (value: number): string => figures.format(value)
