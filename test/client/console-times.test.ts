import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ageOrDate, duration, rowTime, showUtc } from '../../client/console/data/times.ts'

const now = Date.parse('2031-07-20T12:00:00Z')
const thisYear = new Date().getFullYear()

test.each([
  ['2031-07-20T11:59:48Z', '12 s ago'],
  ['2031-07-19T12:00:01Z', '23 h ago'],
  ['2031-07-19T12:00:00Z', /^19 July? 2031$/],
])('shows %s as %s', (at, text) => {
  showUtc(true)
  expect(ageOrDate(at, now)).toMatch(text)
})

test.each([
  [0, '< 1 ms'],
  [4, '4 ms'],
  [999.7, '1.0 s'],
  [1_240, '1.2 s'],
  [15_000, '15 s'],
  [93_000, '1 min 33 s'],
])('shows %i ms that something takes as %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test('shows the date and the hour of a time of this year, and no year', () => {
  showUtc(true)
  const at = `${thisYear}-01-31T05:30:15Z`
  expect(ageOrDate(at, Date.parse(at) + 86_400_000)).toBe('31 Jan, 05:30')
  expect(rowTime(at)).toBe('31 Jan, 05:30:15')
  expect(rowTime('2020-01-31T05:30:15Z')).toBe('31 Jan 2020, 05:30:15')
})

test('names the zone in a row only where it is another than now', () => {
  // A process of its own: the zone of a process is read once.
  const times = join(import.meta.dirname, '..', '..', 'client', 'console', 'data', 'times.ts')
  const rows = [`${thisYear}-01-31T05:30:15Z`, `${thisYear}-07-31T05:30:15Z`]
  const print = `import(${JSON.stringify(times)}).then(({ rowTime }) => console.log(${JSON.stringify(rows)}.map(rowTime).join('\\n')))`
  const env = { ...process.env, TZ: 'Europe/Berlin' }
  const [winter, summer] = execFileSync(process.execPath, ['-e', print], { env, encoding: 'utf8' }).split('\n')
  const [shown] = [winter, summer].filter((row) => !/UTC/.test(row ?? ''))
  expect([winter, summer]).toEqual([
    expect.stringMatching(shown === winter ? /06:30:15$/ : /06:30:15 UTC\+1$/),
    expect.stringMatching(shown === summer ? /07:30:15$/ : /07:30:15 UTC\+2$/),
  ])
})
