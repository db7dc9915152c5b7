import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readmeClaims, securityClaims } from './claims.ts'

// Every claim has a test that tries it: who changes a claim, or removes its test, has to look at the other one.

const root = join(import.meta.dirname, '..')
const plain = (text: string) => text.replace(/\s+/g, ' ')

const pages = readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)

describe.each([
  ['.github/SECURITY.md', ['.github/SECURITY.md'], securityClaims],
  ['README.md and docs/', ['README.md', ...pages], readmeClaims],
] as const)('%s', (_, files, claims) => {
  const document = files.map((file) => plain(readFileSync(join(root, file), 'utf8'))).join('\n')

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

test('links between documents lead to files', () => {
  const files = ['README.md', 'client/README.md', '.github/SECURITY.md', '.github/CONTRIBUTING.md', ...pages]
  const broken = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)]
      .map(([, target = '']) => join(root, file, '..', target))
      .filter((target) => !existsSync(target))
      .map((target) => `${file}: ${target}`),
  )
  expect(broken).toEqual([])
})
