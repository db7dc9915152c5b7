import { expect, test } from 'vitest'
import { axisMarks, type Measure } from '../../client/console/components/axis-marks.ts'
import { durationMark } from '../../client/console/data/times.ts'

const cases: [number, Measure, number[]][] = [
  [0, 'count', [0, 1]],
  [1, 'count', [0, 1]],
  [3, 'count', [0, 1, 2, 3]],
  [53, 'count', [0, 20, 40, 60]],
  [0.0102, 'amount', [0, 0.005, 0.01, 0.015]],
  [662, 'ms', [0, 200, 400, 600, 800]],
  [7_000, 'ms', [0, 2_000, 4_000, 6_000, 8_000]],
  [100_000, 'ms', [0, 30_000, 60_000, 90_000, 120_000]],
]

test.each(cases)('the axis of values up to %d (%s) ends at a round value', (max, measure, marks) => {
  expect(axisMarks(max, measure)).toEqual(marks)
})

test.each([0.0006, 0.3, 60, 1_234_567])('an axis that ends at its highest value keeps its marks (%d)', (max) => {
  const marks = axisMarks(max, 'amount')
  expect(axisMarks(marks.at(-1) ?? 0, 'amount')).toEqual(marks)
})

test.each([
  [150, 50, '150 ms'],
  [1_500, 500, '1.5 s'],
  [90_000, 30_000, '90 s'],
  [120_000, 60_000, '2 min'],
  [86_400_000, 43_200_000, '24 h'],
])('a time of %d ms on an axis with steps of %d ms is %s', (ms, stepMs, text) => {
  expect(durationMark(ms, stepMs)).toBe(text)
})
