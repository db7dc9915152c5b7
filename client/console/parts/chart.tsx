import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { count } from '../data/format.ts'
import type { Measure } from '../data/scale.ts'
import { markExactly } from '../data/times.ts'
import { fadeRunning, isRunning, optionsOf } from './chart-options.ts'

export interface Line {
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
  open?: ((from_s: number, to_s: number, label?: string) => void) | undefined
  /** Levels are lines, of which the first is in front. */
  isLevel?: boolean
}

const day_s = 86_400

/** A point of the plot, and where its tip is: at the edge of the plot that is farther from it. */
interface Place {
  index: number
  tip: { left: number } | { right: number }
}

const gap_px = 8

function placeOf({ bbox, width }: uPlot, index: number, x: number): Place {
  const [left, plot] = [bbox.left / devicePixelRatio, bbox.width / devicePixelRatio]
  return { index, tip: x > plot / 2 ? { left: left + gap_px } : { right: width - left - plot + gap_px } }
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
  const step_s = (at[1] ?? 0) - (at[0] ?? 0)
  const openAt = useRef((_index: number | null | undefined, _height?: number) => {})
  openAt.current = (index, height = Number.POSITIVE_INFINITY) => {
    const from = index == null ? undefined : at[index]
    if (index == null || from === undefined) return
    const bar = isLevel ? undefined : lines.find((line) => height <= (heightsOf(line, lines, hidden)[index] ?? 0))
    open?.(from, from + step_s, bar?.label)
  }
  const isDaily = step_s >= day_s / 2
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
              {isRunning(shownAt, step_s) && ', so far'}
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
