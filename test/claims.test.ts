import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { documentClaims, securityClaims } from './claims.ts'

// Every claim has a test that tries it: who changes a claim, or removes its test, has to look at the other one.

const root = join(import.meta.dirname, '..')
const pages = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
const textOf = (file: string) => readFileSync(join(root, file), 'utf8')
const idsIn = (text: string) => [...text.matchAll(/<!-- claim: ([a-z0-9-]+) -->/g)].map(([, id]) => id as string)

/** The texts of a source, and no comment: a title stands in a call of `test`, or in a table of its cases. */
function textsIn(source: string): string[] {
  const texts: string[] = []
  const visit = (node: ts.Node) => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node))
      texts.push(node.text)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('test.ts', source, ts.ScriptTarget.Latest))
  return texts
}

describe.each([
  ['.github/SECURITY.md', ['.github/SECURITY.md'], securityClaims],
  ['README.md and docs/', ['README.md', ...pages], documentClaims],
] as const)('%s', (_, files, claims) => {
  test('has each claim once, and each claim names existing tests', () => {
    expect(files.flatMap((file) => idsIn(textOf(file))).sort()).toEqual(Object.keys(claims).sort())
    for (const name of Object.values(claims).flat()) {
      const [path = '', title] = name.split(': ')
      const texts = textsIn(textOf(`test/${path}.ts`))
      if (title !== undefined)
        expect
          .soft(
            texts.filter((text) => text.includes(title)),
            name,
          )
          .not.toEqual([])
    }
  })
})

test('has a claim for each paragraph and each point of SECURITY.md', () => {
  const text = textOf('.github/SECURITY.md').split('## What is protected')[1] as string
  const parts = text
    .split(/\n\n(?!<!-- claim)|\n(?=- )/)
    .map((part) => part.trim())
    .filter((part) => part !== '' && !part.startsWith('#'))
  expect(parts.filter((part) => idsIn(part).length !== 1)).toEqual([])
})

test('links between documents lead to files', () => {
  const files = [
    'README.md',
    'client/README.md',
    'client/cli/README.md',
    '.github/SECURITY.md',
    '.github/CONTRIBUTING.md',
    ...pages,
  ]
  const broken = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)]
      .map(([, target = '']) => join(root, file, '..', target))
      .filter((target) => !existsSync(target))
      .map((target) => `${file}: ${target}`),
  )
  expect(broken).toEqual([])
})
