import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { mark } from '../data/format.ts'

export interface Line {
  label: string
  /** The name of a CSS variable. */
  color: string
  values: (number | null)[]
}

const height = 150

/** A line chart over time, with a table of the same values for screen readers. `at`: seconds since the Unix epoch. */
export function Chart({ title, unit, at, lines }: { title: string; unit: string; at: number[]; lines: Line[] }) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const names = lines.map(({ label, color }) => `${label} ${color}`).join()

  useEffect(() => {
    const element = place.current
    if (!element) return
    const style = getComputedStyle(element)
    const text = style.getPropertyValue('--text-soft')
    const grid = { stroke: style.getPropertyValue('--line'), width: 1 }
    const axis = { stroke: text, grid, ticks: grid, font: '11px system-ui' }
    const series = names.split(',').map((name) => {
      const [color = '', ...label] = name.split(' ').reverse()
      return {
        label: label.reverse().join(' '),
        stroke: style.getPropertyValue(color),
        width: 1.5,
        points: { size: 4, filter: alone },
      }
    })
    const options = {
      width: element.clientWidth,
      height,
      legend: { show: false },
      cursor: { show: false },
      scales: { y: { range: (_: uPlot, __: number, max: number): uPlot.Range.MinMax => [0, max > 0 ? max * 1.1 : 1] } },
      axes: [
        { ...axis, values: (_: uPlot, splits: number[]) => timesOf(splits) },
        { ...axis, size: 68, values: (_: uPlot, splits: number[]) => splits.map(figure) },
      ],
      series: [{}, ...series],
    }
    const made = new uPlot(options, [[], ...series.map(() => [])], element)
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
    }
  }, [names])
  useEffect(() => plot.current?.setData([at, ...lines.map(({ values }) => values)]), [at, lines])

  return (
    <figure className="chart">
      <figcaption>
        <strong>{title}</strong> <span className="hint">{unit}</span>
        {lines.map(({ label, color, values }) => (
          <span key={label} className={`legend ${color.slice(2)}`}>
            {label} {lastOf(values)}
          </span>
        ))}
      </figcaption>
      <div ref={place} role="img" aria-label={`${title}: ${lines.map(summaryOf).join('; ')}`} />
    </figure>
  )
}

/** Points without neighbours, which a line does not show. Null: uPlot draws points by its own rule. */
function alone({ data }: uPlot, series: number, isShown: boolean): number[] | null {
  if (isShown) return null
  const values = data[series] ?? []
  return [...values.keys()].filter((at) => values[at] != null && values[at - 1] == null && values[at + 1] == null)
}

const lastOf = (values: (number | null)[]) => {
  const last = values.findLast((value) => value !== null)
  return last === undefined || last === null ? '–' : figure(last)
}

function summaryOf({ label, values }: Line): string {
  const known = values.filter((value) => value !== null)
  if (known.length === 0) return `${label}: none`
  return `${label}: highest ${figure(Math.max(...known))}, last ${lastOf(values)}`
}

const day_s = 86_400
/** Hours and minutes; days, each once, where the marks are at least half a day apart. */
const timesOf = (splits: number[]): string[] => {
  const of = (splits[1] ?? 0) - (splits[0] ?? 0) < day_s / 2 ? 'hour' : 'day'
  const marks = splits.map((at) => mark(at, of))
  return marks.map((text, index) => (text === marks[index - 1] ? '' : text))
}

const figure = (value: number): string => value.toLocaleString('en', { maximumSignificantDigits: 3 })
