import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readmeClaims, securityClaims } from './claims.ts'

// Every claim has a test that tries it: who changes a claim, or removes its test, has to look at the other one.

const root = join(import.meta.dirname, '..')
const plain = (text: string) => text.replace(/\s+/g, ' ')

describe.each([
  ['.github/SECURITY.md', securityClaims],
  ['README.md', readmeClaims],
])('%s', (file, claims) => {
  const document = plain(readFileSync(join(root, file), 'utf8'))

  test('contains the text of each claim, and each claim names existing tests', () => {
    for (const [words, tests] of Object.entries(claims)) {
      expect.soft(document, words).toContain(words)
      for (const name of tests) {
        const [path = '', title] = name.split(': ')
        const source = readFileSync(join(root, 'test', `${path}.ts`), 'utf8')
        if (title !== undefined) expect.soft(source, name).toContain(title)
      }
    }
  })
})

test('has a claim for each paragraph and each point of SECURITY.md', () => {
  const text = readFileSync(join(root, '.github/SECURITY.md'), 'utf8').split('## What is protected')[1] as string
  const parts = text
    .split(/\n\n|\n(?=- )/)
    .map(plain)
    .filter((part) => part.trim() !== '' && !part.startsWith('#'))
  const words = Object.keys(securityClaims)
  expect(parts.filter((part) => !words.some((claim) => part.includes(claim)))).toEqual([])
})
