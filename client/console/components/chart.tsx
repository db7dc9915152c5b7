import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { count } from '../data/format.ts'
import { markExactly, mark as markOfTime, zone } from '../data/times.ts'
import { axisMarks, type Measure } from './axis-marks.ts'

interface Line {
  label: string
  /** The name of a CSS variable. */
  color: string
  values: (number | null)[]
  /** What the whole period has of it, in the legend. */
  total?: string
  /** What it is, where the label alone does not say it. */
  about?: string
}

interface ChartProps {
  title: string
  unit: string
  /** Seconds since the Unix epoch, of the begin of each point. */
  at: number[]
  /** Bars stand on those of the line before. */
  lines: Line[]
  /** What the tip says before the lines. */
  whole?: { label: string; values: number[] }
  /** What the whole period has, above the chart. */
  total?: string
  measure: Measure
  /** How a value is shown, and beside the axis if that is another: there, in steps of so much. */
  show?: (value: number) => string
  mark?: (value: number, step: number) => string
  /** Opens what a point stands for, or the bar of a line in it. */
  open?: ((fromS: number, toS: number, label?: string) => void) | undefined
  /** Levels are lines, of which the first is in front. */
  isLevel?: boolean
}

const dayS = 86_400

/** A point of the plot, and where its tip is: at the edge of the plot that is farther from it. */
interface Place {
  index: number
  tip: { left: number } | { right: number }
}

const gapPx = 8

function placeOf({ bbox, width }: uPlot, index: number, x: number): Place {
  const [left, plot] = [bbox.left / devicePixelRatio, bbox.width / devicePixelRatio]
  return { index, tip: x > plot / 2 ? { left: left + gapPx } : { right: width - left - plot + gapPx } }
}

/** A chart over time with the values under the pointer, and with a text of the same for screen readers. Amounts and counts are bars. */
export function Chart({
  title,
  unit,
  at,
  lines,
  whole,
  total,
  measure,
  show = count,
  mark = show === count ? figure : show,
  open,
  isLevel = false,
}: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const marker = useRef(mark)
  marker.current = mark
  const [hidden, hide] = useState<ReadonlySet<string>>(new Set())
  const [pointed, setPoint] = useState<Place>()
  const [tapped, setTapped] = useState<Place>()
  const point = tapped ?? pointed
  const stepS = (at[1] ?? 0) - (at[0] ?? 0)
  const openAt = useRef((_index: number | null | undefined, _height?: number) => {})
  openAt.current = (index, height = Number.POSITIVE_INFINITY) => {
    const from = index == null ? undefined : at[index]
    if (index == null || from === undefined) return
    const bar = isLevel ? undefined : lines.find((line) => height <= (heightsOf(line, lines, hidden)[index] ?? 0))
    open?.(from, from + stepS, bar?.label)
  }
  const isDaily = stepS >= dayS / 2
  const drawn = lines.toReversed()
  const names = drawn.map(({ label, color }) => `${label} ${color}`).join()

  useEffect(() => {
    const element = place.current
    if (!element) return
    const made = new uPlot(
      {
        ...optionsOf(element, names, { measure, isLevel, isDaily }, (value, step) => marker.current(value, step)),
        hooks: {
          draw: [fadeRunning],
          setCursor: [
            (its) => {
              const { idx, left = -1 } = its.cursor
              setPoint(idx == null || left < 0 ? undefined : placeOf(its, idx, left))
            },
          ],
        },
      },
      [[], ...names.split(',').map(() => [])],
      element,
    )
    // A finger has no other way to see the values: the tip has the link then.
    made.over.addEventListener('click', (event) => {
      if ((event as PointerEvent).pointerType !== 'touch')
        openAt.current(made.cursor.idx, made.posToVal(event.offsetY, 'y'))
      else {
        const place = placeOf(made, made.posToIdx(event.offsetX), event.offsetX)
        setTapped((before) => (before?.index === place.index ? undefined : place))
      }
    })
    plot.current = made
    const observer = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: element.clientHeight }),
    )
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
    }
  }, [names, measure, isLevel, isDaily])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a chart that was made again needs its data again
  useEffect(
    () => plot.current?.setData([at, ...drawn.map((line) => heightsOf(line, isLevel ? [] : lines, hidden))]),
    [at, lines, names, hidden, measure, isLevel, isDaily],
  )

  const swatchOf = (color: string, index: number) =>
    [color.slice(2), isLevel && (index === 0 ? 'dot' : 'ring')].filter(Boolean).join(' ')
  const said = [...(whole ? [whole] : []), ...lines]
  const isEmpty = lines.every(({ values }) => values.every((value) => value === null || value === 0))
  const shownAt = point && at[point.index]
  return (
    <figure className="chart">
      <figcaption>
        <strong>{title}</strong> <span className="hint">{unit}</span>
        <span className="total">{total}</span>
      </figcaption>
      <div className={open ? 'plot linked' : 'plot'}>
        <div ref={place} role="img" aria-label={`${title}: ${said.map((line) => summaryOf(line, show)).join('; ')}`} />
        {isEmpty && <span className="empty">Nothing in this period</span>}
        {point && shownAt !== undefined && !isEmpty && (
          <dl className="tip" style={point.tip}>
            <div>
              {markExactly(shownAt, isDaily)}
              {isRunning(shownAt, stepS) && ', so far'}
            </div>
            {whole && (
              <div>
                <dt>{whole.label}</dt>
                <dd>{shownOr(whole.values[point.index], show)}</dd>
              </div>
            )}
            {lines.map(({ label, color, values }, index) => (
              <div key={label}>
                <dt className={swatchOf(color, index)}>{label}</dt>
                <dd>{shownOr(values[point.index], show)}</dd>
              </div>
            ))}
            {open && tapped && (
              <button type="button" onPointerDown={() => openAt.current(point.index)}>
                Open these transactions
              </button>
            )}
          </dl>
        )}
      </div>
      {lines.length > 1 && (
        <div className="legends">
          {lines.map(({ label, color, total: its, about = label }, index) => (
            <button
              key={label}
              type="button"
              className={`legend ${swatchOf(color, index)}`}
              aria-pressed={!hidden.has(label)}
              title={hidden.has(label) ? `Show ${about}` : `Hide ${about}`}
              onClick={() => hide((before) => before.symmetricDifference(new Set([label])))}
            >
              {label} {its !== undefined && <strong>{its}</strong>}
            </button>
          ))}
        </div>
      )}
    </figure>
  )
}

/** Where the line or its bars end. Bars are behind those of the lines before, which they stand on, and stand out above. */
function heightsOf(line: Line, stacked: Line[], hidden: ReadonlySet<string>): (number | null)[] {
  if (hidden.has(line.label)) return line.values.map(() => null)
  const below = stacked.slice(0, Math.max(stacked.indexOf(line), 0)).filter(({ label }) => !hidden.has(label))
  return line.values.map(
    (value, index) => value && below.reduce((sum, { values }) => sum + (values[index] ?? 0), value),
  )
}

const shownOr = (value: number | null | undefined, show: (value: number) => string) =>
  value === null || value === undefined ? '–' : show(value)

function summaryOf({ label, values }: Pick<Line, 'label' | 'values'>, show: (value: number) => string): string {
  const known = values.filter((value) => value !== null)
  if (known.length === 0) return `${label}: none`
  return `${label}: highest ${show(Math.max(...known))}, last ${shownOr(
    values.findLast((value) => value !== null),
    show,
  )}`
}

/** At most three digits that say something: 41,600 is "41.6k". */
const figures = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })
const figure = (value: number): string => figures.format(value)

const characterPx = 6.5
const daySeconds = 86_400
/** So few values of a line are points too. */
const maxSparse = 12

/** `names`: labels and colors in the order of drawing, the one in front last. `mark`: how a value is shown beside the axis. */
function optionsOf(
  element: HTMLElement,
  names: string,
  { measure, isLevel, isDaily }: { measure: Measure; isLevel: boolean; isDaily: boolean },
  mark: (value: number, step: number) => string,
): uPlot.Options {
  const style = getComputedStyle(element)
  const text = style.getPropertyValue('--text-soft')
  const grid = { stroke: style.getPropertyValue('--line'), width: 1 }
  const axis = { stroke: text, font: '11px system-ui', ticks: { show: false } }
  const card = style.getPropertyValue('--card')
  const all = names.split(',')
  const series = all.map((name, index): uPlot.Series => {
    const [color = '', ...label] = name.split(' ').reverse()
    const stroke = style.getPropertyValue(color)
    const its = { label: label.reverse().join(' '), stroke }
    const paths = isLevel ? undefined : uPlot.paths.bars?.({ size: [0.7, 24] })
    if (paths) return { ...its, width: 0, fill: stroke, points: { show: false }, paths }
    const points = { show: false, filter: pointsOf }
    if (index === all.length - 1) return { ...its, width: 2, points: { ...points, size: 6, fill: stroke } }
    // Those behind are dashed, with rings that are seen around the points in front.
    return { ...its, width: 1.5, dash: [4, 3], points: { ...points, size: 10, width: 1.5, fill: card } }
  })
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    padding: [8, 16, 0, 0],
    // The axis is divided at midnight of the zone that its marks are in: that of days is UTC.
    tzDate: (at) => uPlot.tzDate(new Date(at * 1_000), isDaily ? 'UTC' : zone()),
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 6, ...(!isLevel && { show: false }) },
      drag: { x: false, y: false },
      sync: { key: 'activity' },
    },
    scales: {
      // The first and the last bar are whole.
      x: { range: withHalves },
      y: {
        range: (_: uPlot, __: number, max: number | null): uPlot.Range.MinMax => [
          0,
          axisMarks(max ?? 0, measure).at(-1) ?? 1,
        ],
      },
    },
    axes: [
      {
        ...axis,
        size: 28,
        gap: 10,
        grid: { show: false },
        ...(isDaily && { incrs: [1, 2, 7, 14, 28].map((days) => days * daySeconds) }),
        values: (_: uPlot, splits: number[]) => datesOf(splits, isDaily),
      },
      {
        ...axis,
        grid,
        size: widthOf,
        splits: (plot: uPlot, _: number, __: number, max: number) => (isZero(plot) ? [0] : axisMarks(max, measure)),
        values: (_: uPlot, [zero, step = 1, ...others]: number[]) =>
          zero === undefined ? [] : ['0', ...[step, ...others].map((value) => mark(value, step))],
      },
    ],
    series: [{}, ...series],
  }
}

/** The last step is not over: what it has is drawn paler, by a veil of the color behind the chart. */
function fadeRunning(plot: uPlot): void {
  const { ctx, bbox, data, root } = plot
  const [first = 0, second = 0] = data[0]
  const [last = 0, half] = [data[0].at(-1), (second - first) / 2]
  if (!isRunning(last, 2 * half)) return
  const from = plot.valToPos(last - half, 'x', true)
  ctx.save()
  ctx.globalAlpha = 0.6
  ctx.fillStyle = getComputedStyle(root).getPropertyValue('--card')
  ctx.fillRect(from, bbox.top, bbox.left + bbox.width - from, bbox.height)
  ctx.restore()
}

/** Whether the step from this time on, in seconds since the Unix epoch, is not over. */
const isRunning = (from: number, stepS: number): boolean => (from + stepS) * 1_000 > Date.now()

/** An axis of nothing has no other mark. */
const isZero = ({ data: [, ...lines] }: uPlot): boolean => lines.every((values) => ![...values].some(Boolean))

/** As wide as its longest mark. The marks are missing until the scale is known. */
const widthOf = (_: uPlot, marks: string[] | null): number =>
  8 + characterPx * Math.max(1, ...(marks ?? []).map(({ length }) => length))

/** Half a point more at both ends. */
const withHalves = ({ data: [times] }: uPlot, min: number, max: number): uPlot.Range.MinMax => {
  const half = ((times[1] ?? 0) - (times[0] ?? 0)) / 2
  return [min - half, max + half]
}

/** All points of a sparse line; else those between gaps or edges, of which the line shows nothing. */
function pointsOf({ data }: uPlot, series: number): number[] {
  const values = data[series] ?? []
  const known = [...values.keys()].filter((at) => values[at] != null)
  return known.length <= maxSparse ? known : known.filter((at) => values[at - 1] == null && values[at + 1] == null)
}

/** Hours and minutes with the day at midnight, or days, each once. */
const datesOf = (splits: number[], isDaily: boolean): string[] => {
  const marks = splits.map((at) => markOfTime(at, isDaily))
  return marks.map((text, index) => (text === marks[index - 1] ? '' : text))
}

/** The height of the base line, which is zero, in a picture of 24. */
const base = 22

interface SparkProps {
  values: (number | null)[]
  each: string
  color?: string
  show?: (value: number) => string
}

/**
 * A small line of values above its base line, with its range and its last value in its title. Where a value is unknown, the line has a gap. A
 * value without neighbors and the last one are dots, and the line to the last one is dashed. `each`: what a value is of, such as "per hour". `color`: the name of a CSS variable.
 */
export function Spark({ values, each, show = count, color = '--blue' }: SparkProps) {
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
