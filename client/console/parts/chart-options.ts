import uPlot from 'uplot'
import { type Measure, marksOf } from '../data/scale.ts'
import { mark as markOfTime, zone } from '../data/times.ts'

const character_px = 6.5
const day_s = 86_400
/** So few values of a line are points too. */
const max_sparse = 12

/** `names`: labels and colors in the order of drawing, the one in front last. `mark`: how a value is shown beside the axis. */
export function optionsOf(
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
          marksOf(max ?? 0, measure).at(-1) ?? 1,
        ],
      },
    },
    axes: [
      {
        ...axis,
        size: 28,
        gap: 10,
        grid: { show: false },
        ...(isDaily && { incrs: [1, 2, 7, 14, 28].map((days) => days * day_s) }),
        values: (_: uPlot, splits: number[]) => datesOf(splits, isDaily),
      },
      {
        ...axis,
        grid,
        size: widthOf,
        splits: (its: uPlot, _: number, __: number, max: number) => (isZero(its) ? [0] : marksOf(max, measure)),
        values: (_: uPlot, [zero, step = 1, ...others]: number[]) =>
          zero === undefined ? [] : ['0', ...[step, ...others].map((value) => mark(value, step))],
      },
    ],
    series: [{}, ...series],
  }
}

/** The last step is not over: what it has is drawn paler, by a veil of the color behind the chart. */
export function fadeRunning(its: uPlot): void {
  const { ctx, bbox, data, root } = its
  const [first = 0, second = 0] = data[0]
  const [last = 0, half] = [data[0].at(-1), (second - first) / 2]
  if (!isRunning(last, 2 * half)) return
  const from = its.valToPos(last - half, 'x', true)
  ctx.save()
  ctx.globalAlpha = 0.6
  ctx.fillStyle = getComputedStyle(root).getPropertyValue('--card')
  ctx.fillRect(from, bbox.top, bbox.left + bbox.width - from, bbox.height)
  ctx.restore()
}

/** Whether the step from this time on, in seconds since the Unix epoch, is not over. */
export const isRunning = (from: number, step_s: number): boolean => (from + step_s) * 1_000 > Date.now()

/** An axis of nothing has no other mark. */
const isZero = ({ data: [, ...lines] }: uPlot): boolean => lines.every((values) => ![...values].some(Boolean))

/** As wide as its longest mark. The marks are missing until the scale is known. */
const widthOf = (_: uPlot, marks: string[] | null): number =>
  8 + character_px * Math.max(1, ...(marks ?? []).map(({ length }) => length))

/** Half a point more at both ends. */
const withHalves = ({ data: [times] }: uPlot, min: number, max: number): uPlot.Range.MinMax => {
  const half = ((times[1] ?? 0) - (times[0] ?? 0)) / 2
  return [min - half, max + half]
}

/** All points of a sparse line; else those between gaps or edges, of which the line shows nothing. */
function pointsOf({ data }: uPlot, series: number): number[] {
  const values = data[series] ?? []
  const known = [...values.keys()].filter((at) => values[at] != null)
  return known.length <= max_sparse ? known : known.filter((at) => values[at - 1] == null && values[at + 1] == null)
}

/** Hours and minutes with the day at midnight, or days, each once. */
const datesOf = (splits: number[], isDaily: boolean): string[] => {
  const marks = splits.map((at) => markOfTime(at, isDaily))
  return marks.map((text, index) => (text === marks[index - 1] ? '' : text))
}
