import { distance } from 'fastest-levenshtein'

/** Longer names are not compared: the time grows with the square of the length. */
const maxLength = 64

/** The name that differs least from a wrong one, by at most `most` characters: a quarter of them, unless said otherwise. */
export function nearestOf(
  wrong: string,
  names: readonly string[],
  most = Math.max(1, Math.floor(wrong.length / 4)),
): string | undefined {
  if (wrong.length > maxLength) return undefined
  const [nearest] = names
    .filter((name) => Math.abs(name.length - wrong.length) <= most)
    .map((name) => ({ name, far: distance(name, wrong) }))
    .filter(({ far }) => far <= most)
    .sort((a, b) => a.far - b.far)
  return nearest?.name
}
