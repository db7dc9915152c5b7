import { filled } from './curl.ts'
import type { ExampleCall } from './operation.ts'

/** The call with the package `requests`. The API key is in the environment variable RELAYER_API_KEY. */
export function pythonSample(baseUrl: string, call: ExampleCall): string {
  const { method, path, parameters, body, needs_token, answer } = call
  const headers = Object.entries(parameters.header).map(([name, value]) => `${literal(name)}: ${literal(value)}`)
  if (needs_token) headers.unshift('"Authorization": f"Bearer {os.environ[\'RELAYER_API_KEY\']}"')
  const given = [
    literal(baseUrl + filled(path, parameters.path)),
    ...(Object.keys(parameters.query).length > 0 ? [`params=${literal(parameters.query)}`] : []),
    ...(headers.length > 0 ? [`headers={${headers.join(', ')}}`] : []),
    ...(body !== undefined ? [`json=${literal(body)}`] : []),
    ...(answer === 'events' ? ['stream=True'] : []),
  ]
  const shown = {
    data: 'print(response.json()["data"])',
    json: 'print(response.json())',
    events: 'for line in response.iter_lines(decode_unicode=True):\n    print(line)',
    empty: '',
  }[answer]
  return `${needs_token ? 'import os\n' : ''}import requests

response = requests.${method}(
    ${given.join(',\n    ')},
)
if not response.ok:
    raise SystemExit(response.text)
${shown}
`
}

/** A value as Python writes it. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([name, its]) => `${literal(name)}: ${literal(its)}`)
      .join(', ')}}`
  return JSON.stringify(value)
}
