import { clean, type Score } from '../support/ledger.ts'
import { type Money, wrongInMoney } from '../support/money.ts'

/** The result of one part of the run. */
export interface Outcome {
  score: Score
  money: Money
  /** Expected scores that differ from a clean run, because the part withdraws transactions. */
  expected?: Partial<Score>
  /** Counts of violations. */
  faults: Record<string, number>
  /** Counts of events without which the part has tested nothing. */
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
