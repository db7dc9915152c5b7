import type { TransactionAttempt } from '../../index.ts'

/** Shorter ones are shown one by one. */
const minFolded = 3

/** Versions that follow each other with the same purpose and outcome. The first and the newest version stand alone. */
export type Run = [first: TransactionAttempt, ...others: TransactionAttempt[]]

export function runsOf(attempts: TransactionAttempt[]): Run[] {
  const runs: Run[] = []
  for (const [index, attempt] of attempts.entries()) {
    const before = runs.at(-1)
    const isAlone = index <= 1 || index === attempts.length - 1 || attempt.is_mined
    if (before && !isAlone && isAlike(before[0], attempt)) before.push(attempt)
    else runs.push([attempt])
  }
  return runs.flatMap((run): Run[] => (run.length < minFolded ? run.map((one) => [one]) : [run]))
}

const isAlike = (a: TransactionAttempt, b: TransactionAttempt) =>
  a.purpose === b.purpose &&
  a.refusal_message === b.refusal_message &&
  (a.accepted_at === null) === (b.accepted_at === null) &&
  !a.is_mined
