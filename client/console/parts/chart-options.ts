import uPlot from 'uplot'
import { mark as markOfTime, zone } from '../data/format.ts'
import { type Measure, marksOf } from '../data/scale.ts'

export const height = 168
const character_px = 6.5
const day_s = 86_400

/** `names`: labels and colors in the order of drawing. `mark`: how a value is shown beside the axis. */
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
  const all = names.split(',')
  const series = all.map((name, index): uPlot.Series => {
    const [color = '', ...label] = name.split(' ').reverse()
    const stroke = style.getPropertyValue(color)
    const its = { label: label.reverse().join(' '), stroke, width: 1.5 }
    // The one behind all others is the whole: it is wider and pale.
    const isWhole = index === 0 && all.length > 1
    const paths = isLevel ? undefined : uPlot.paths.bars?.({ size: [isWhole ? 0.9 : 0.6, isWhole ? 32 : 24] })
    const fill = isWhole ? `${stroke}59` : stroke
    if (paths) return { ...its, width: 0, fill, points: { show: false }, paths }
    return { ...its, points: { size: 6, fill: stroke, filter: alone } }
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
        splits: (_: uPlot, __: number, ___: number, max: number) => marksOf(max, measure),
        values: (_: uPlot, [zero, step = 1, ...others]: number[]) =>
          zero === undefined ? [] : ['0', ...[step, ...others].map((value) => mark(value, step))],
      },
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

/** Points between gaps or edges, of which a line shows nothing. */
function alone({ data }: uPlot, series: number): number[] {
  const values = data[series] ?? []
  return [...values.keys()].filter((at) => values[at] != null && values[at - 1] == null && values[at + 1] == null)
}

/** Hours and minutes, or days, each once. */
const datesOf = (splits: number[], isDaily: boolean): string[] => {
  const marks = splits.map((at) => markOfTime(at, isDaily))
  return marks.map((text, index) => (text === marks[index - 1] ? '' : text))
}
