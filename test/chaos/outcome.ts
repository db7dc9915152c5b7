import { clean, type Score } from '../support/ledger.ts'

/** What came of one part of the chaos. */
export interface Outcome {
  score: Score
  /** What must not have happened. */
  faults: Record<string, number>
  /** What must have happened, or nothing was tested. */
  seen: Record<string, number>
}

/** What is wrong with it, a line each. */
export function wrongIn({ score, faults, seen }: Outcome): string[] {
  const expected = clean(score.accepted)
  return [
    ...(Object.keys(expected) as (keyof Score)[])
      .filter((name) => score[name] !== expected[name])
      .map((name) => `${name} is ${score[name]} and not ${expected[name]}`),
    ...Object.entries(faults).flatMap(([name, count]) => (count === 0 ? [] : [`${name}: ${count}`])),
    ...Object.entries(seen).flatMap(([name, count]) => (count > 0 ? [] : [`${name} has never happened`])),
  ]
}
