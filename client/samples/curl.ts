import type { ExampleCall } from './operation.ts'

/** What the reference shows beside the text without scrolling. */
const longestLine = 60

/** The call as a curl command. The API key is in the environment variable RELAYER_API_KEY. */
export function curlSample(
  baseUrl: string,
  { method, path, parameters, body, needs_token, answer }: ExampleCall,
): string {
  const words = ['curl']
  if (answer === 'events') words.push('--no-buffer')
  if (method !== 'get' && !(method === 'post' && body !== undefined)) words.push('-X', method.toUpperCase())
  words.push(quoted(baseUrl + filled(path, parameters.path) + queryOf(parameters.query)))
  const lines = [words.join(' ')]
  if (needs_token) lines.push('-H "Authorization: Bearer $RELAYER_API_KEY"')
  for (const [name, value] of Object.entries(parameters.header)) lines.push(`-H ${quoted(`${name}: ${value}`)}`)
  if (body !== undefined) lines.push('-H "Content-Type: application/json"', `-d ${quoted(json(body))}`)
  return lines.join(' \\\n  ')
}

/** The path with its parameters. A colon is legal in a path and stays readable. */
export const filled = (path: string, values: Record<string, string>): string =>
  path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? '').replaceAll('%3A', ':'))

export const queryOf = (query: Record<string, string>): string =>
  Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query)}`

/** One word of a shell command. */
const quoted = (text: string) => (/^[\w:/.@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** JSON that breaks only lines that would be too long. */
export function json(value: unknown, indent = ''): string {
  const line = JSON.stringify(value)
  if (line.length + indent.length <= longestLine || typeof value !== 'object' || value === null) return line
  const inner = `${indent}  `
  const members = Array.isArray(value)
    ? value.map((item) => json(item, inner))
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${json(member, inner)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return `${open}\n${inner}${members.join(`,\n${inner}`)}\n${indent}${close}`
}
