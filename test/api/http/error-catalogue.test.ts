import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { statusOf } from '../../../server/api/http/errors.ts'

const contract = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', '..', '..', 'generated', 'openapi.json'), 'utf8'),
)

test('lists every code in the error catalogue with its status and a remedy', () => {
  const entries = [
    ...contract.info.description.matchAll(
      /^- <a id="section\/errors\/(\w+)"><\/a>\*\*`\1`\*\* \((\d+)\)\. (.*?)(?=^- |\n\n)/gms,
    ),
  ]
  const catalogue = Object.fromEntries(entries.map(([, code, status]) => [code, Number(status)]))
  expect(catalogue).toEqual(statusOf)
  for (const [entry] of entries) expect(entry).toContain('*Remedy:* ')
})

test('lists every code in the schema', () => {
  const { description, 'x-extensible-enum': values } = contract.components.schemas.FailureCode
  expect(values).toEqual(Object.keys(statusOf))
  expect(description.match(/`(\w+)`/g)).toEqual(values.map((code: string) => `\`${code}\``))
})

/** Words of HTTP that only the API may write: parts of a request, and the phrases of statuses. */
const words =
  /['"`](?:\/(?:body|path|query|headers)\b|(?:Bad Request|Forbidden|Not Found|Conflict|Unprocessable Content|Too Many Requests|Bad Gateway|Service Unavailable)['"`])/

test('names no part of a request and no status below the API', () => {
  const server = join(import.meta.dirname, '..', '..', '..', 'server')
  const files = readdirSync(server, { recursive: true, encoding: 'utf8' })
  const below = files.filter((file) => file.endsWith('.ts') && !file.startsWith('api/'))
  expect(below.length).toBeGreaterThan(100)
  expect(below.filter((file) => words.test(readFileSync(join(server, file), 'utf8')))).toEqual([])
})
