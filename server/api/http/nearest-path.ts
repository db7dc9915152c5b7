import { distance } from 'fastest-levenshtein'

/** Longer paths are not compared: the time grows with the square of the length. */
const maxLength = 200

/** The path of the contract that is most like a request's, with the values that it has for parameters; undefined: none is like it. */
export function nearestPath(paths: readonly string[], requested: string): string | undefined {
  if (requested.length > maxLength) return undefined
  const segments = requested.replace(/\/+$/, '').split('/')
  const [nearest] = paths
    .map((template) => {
      const path = filled(template, segments)
      return { path, far: distance(path, segments.join('/')), own: template.replaceAll(/\{\w+\}/g, '').length }
    })
    // Half of its own words are the same.
    .filter(({ far, own }) => 2 * far <= own)
    .sort((a, b) => a.far - b.far)
  return nearest?.path
}

/** A parameter takes the segment of the request that stands in its place, when its path begins alike. */
const filled = (path: string, segments: string[]): string => {
  const own = path.split('/')
  // A request without the version, or with another, has its segments elsewhere.
  const shift = segments.length < own.length && segments[1] !== own[1] ? own.length - segments.length : 0
  return own.map((part, index) => (part.startsWith('{') ? (segments[index - shift] ?? part) : part)).join('/')
}
