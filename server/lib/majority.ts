/** More than half. */
export const majorityOf = (count: number): number => Math.floor(count / 2) + 1

/** The answers that are not undefined. */
export const given = <T>(answers: (T | undefined)[]): T[] => answers.filter((answer) => answer !== undefined)

/** The largest number that more than half of all endpoints report or exceed; undefined when too few answered. */
export function reachedByMost<T extends number | bigint>(numbers: (T | undefined)[]): T | undefined {
  const falling = given(numbers).sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))
  return falling[majorityOf(numbers.length) - 1]
}

/** The answer that more than half of ALL endpoints give, by a text that identifies it. A silent endpoint counts as "no". */
export function saidByMost<T>(answers: (T | undefined)[], identify: (answer: T) => string): T | undefined {
  const groups = [...Map.groupBy(given(answers), identify).values()]
  return groups.find((group) => group.length >= majorityOf(answers.length))?.[0]
}

/** The largest number that at least half of those who answered report or exceed; undefined without an answer. */
export const atLeastHalf = (numbers: number[]): number | undefined =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
