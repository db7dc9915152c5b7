import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { statusOf } from '../../../server/domain/errors.ts'

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
  const named = contract.components.schemas.FailureCode.description.match(/`(\w+)`/g)
  expect(named).toEqual(Object.keys(statusOf).map((code) => `\`${code}\``))
})
