import { clean, type Score } from '../support/ledger.ts'
import { type Money, wrongInMoney } from '../support/money.ts'

/** The result of one part of the run. */
export interface Outcome {
  score: Score
  money: Money
  /** Where the score is not that of a clean run, what it must be: withdrawals that the part asks for. */
  expected?: Partial<Score>
  /** What must not have happened. */
  faults: Record<string, number>
  /** What must have happened, or nothing was tested. */
  seen: Record<string, number>
}

/** The failures of the part, one per line. */
export function wrongIn({ score, money, expected: different, faults, seen }: Outcome): string[] {
  const expected = { ...clean(score.accepted), ...different }
  return [
    ...(Object.keys(expected) as (keyof Score)[])
      .filter((name) => score[name] !== expected[name])
      .map((name) => `${name} is ${score[name]} and not ${expected[name]}`),
    ...wrongInMoney(money),
    ...Object.entries(faults).flatMap(([name, count]) => (count === 0 ? [] : [`${name}: ${count}`])),
    ...Object.entries(seen).flatMap(([name, count]) => (count > 0 ? [] : [`${name} has never happened`])),
  ]
}
